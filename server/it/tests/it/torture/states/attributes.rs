//! Files whose bytes in git differ from those in the working tree.

use super::{State, hold};

const LINE_ENDINGS: &[State] = &[
    State::served(
        "core.autocrlf",
        "git config core.autocrlf true; rm notes/*; git restore notes; grep -q '\r' notes/a.md",
    ),
    State::served(
        "core.autocrlf input",
        "git config core.autocrlf input; printf '# A\\r\\n' > notes/a.md; git add --renormalize .",
    ),
    State::served(
        "eol=crlf",
        "echo '*.md eol=crlf' > .gitattributes; git add .; git commit -qm attributes
         rm notes/*; git restore notes; grep -q '\r' notes/a.md",
    ),
    State::served(
        "the user's own core.autocrlf",
        "git config --global core.autocrlf true; rm notes/*; git restore notes",
    ),
    State::served(
        "included core.autocrlf",
        "printf '[core]\\nautocrlf = true\\n' > ../home/more; git config --global include.path more
         rm notes/*; git restore notes; grep -q '\r' notes/a.md",
    ),
    State::served(
        "the user's own attributes",
        "mkdir -p ../home/.config/git; echo '*.md eol=crlf' > ../home/.config/git/attributes
         rm notes/*; git restore notes; grep -q '\r' notes/a.md",
    ),
];

const IDENT: &[State] = &[
    State::served(
        "ident",
        "echo '*.md ident' > .gitattributes; printf '$Id$\\n' > notes/a.md; git add .; git commit -qm ident
         rm notes/*; git restore notes; grep -q 'Id: ' notes/a.md",
    ),
    State::served(
        "ident and eol=crlf",
        "echo '*.md ident eol=crlf' > .gitattributes; printf 'a\\n$Id$\\n' > notes/a.md; git add .
         git commit -qm ident; rm notes/*; git restore notes; grep -q 'Id: .*\r' notes/a.md",
    ),
];

const NOT_KEPT: &str = "a commit could not hold what git would keep";

const FILTERS: &[State] = &[
    State::served(
        "a filter that is not configured",
        "echo '*.md filter=missing' > .gitattributes; git add .; git commit -qm attributes",
    ),
    State::served(
        "a filter of one direction",
        "git config filter.trap.smudge 'sed s/x/y/'; echo '*.md filter=trap' > .gitattributes",
    ),
    State::served(
        "a filter that cleans",
        "git config filter.trap.clean 'tr a-z A-Z'; echo 'notes/b.md filter=trap' > .gitattributes
         echo b > notes/b.md; git add .; git commit -qm b; git show HEAD:notes/b.md | grep -q B",
    )
    .but(&[("notes/b.md", NOT_KEPT)]),
    State::served(
        "a filter that is a process",
        "git config filter.trap.process false; echo 'x*.md filter=trap' > .git/info/attributes",
    )
    .but(&[("notes/x.md", NOT_KEPT)]),
    State::served(
        "a filter that is required",
        "git config --global filter.trap.required true; echo 'x*.md filter=trap' > .gitattributes",
    )
    .but(&[("x.md", NOT_KEPT)]),
    State::served(
        "a filter by another name",
        "git config filter.trap.clean cat
         printf '[attr]big filter=trap\\nx.md big\\n' > .gitattributes",
    )
    .but(&[("x.md", NOT_KEPT)]),
];

const ENCODINGS: &[State] = &[
    State::served(
        "an encoding of the working tree",
        "echo 'x.md working-tree-encoding=UTF-16LE' > .gitattributes",
    )
    .but(&[("x.md", NOT_KEPT)]),
    State::served("an encoding that is UTF-8", "echo '*.md working-tree-encoding=UTF-8' > .gitattributes"),
    State::served("no encoding", "echo '*.md -working-tree-encoding' > .gitattributes"),
];

#[test]
fn line_endings_are_gits_own() {
    hold(LINE_ENDINGS);
}

#[test]
fn identifiers_are_gits_own() {
    hold(IDENT);
}

#[test]
fn a_file_that_a_program_would_change_is_not_committed_without_it() {
    hold(FILTERS);
}

#[test]
fn a_file_of_another_encoding_is_not_committed_without_it() {
    hold(ENCODINGS);
}
