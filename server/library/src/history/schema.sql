-- A history as a walk from `state.head` comes upon it. All of it, or nothing: there are no tables, or no row in `state`.

CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- The commit that the walk begins at.
    head BLOB NOT NULL,
    -- What the commits before this place changed is in `change`; of the others it is not known yet.
    changes_before INTEGER NOT NULL
) STRICT;

CREATE TABLE walk (
    -- The newest commit has the least. There is no gap.
    place INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    -- Whether this commit and those after it are all of its ancestors and nothing else.
    alone INTEGER NOT NULL
) STRICT;

CREATE TABLE entry (
    place INTEGER PRIMARY KEY,
    operation TEXT NOT NULL,
    -- The first document, relative to the top of the repository. It decides whose library's entry this is.
    path TEXT NOT NULL,
    tool TEXT NOT NULL,
    client TEXT,
    seconds INTEGER NOT NULL,
    nanoseconds INTEGER NOT NULL,
    summary TEXT NOT NULL,
    key TEXT,
    request TEXT,
    execution TEXT,
    caller TEXT,
    -- The other documents, as a JSON array; NULL where there is only one.
    more TEXT
) STRICT;

CREATE TABLE path (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Which commit changed which path. The empty path stands for all, where a commit changed too many to list.
CREATE TABLE change (
    path INTEGER NOT NULL,
    place INTEGER NOT NULL,
    -- Whether the commit's record names the path, and the bytes stayed as they were.
    same INTEGER NOT NULL,
    PRIMARY KEY (path, place)
) STRICT, WITHOUT ROWID;
