//! Irregular forms of common English words, which stemmers do not relate: questions have "bought", texts "buy".
//!
//! Forms that are also common words of another meaning are left out: "rose", "ground", "bound", "lives", "leaves".

use std::{collections::HashMap, sync::LazyLock};

/// Returns the base of an irregular form.
pub(super) fn base_form(word: &str) -> Option<&'static str> {
    static BASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| forms().collect());
    BASES.get(word).copied()
}

/// Returns each form with its base.
fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS.lines().flat_map(|line| {
        let mut words = line.split_whitespace();
        let base = words.next();
        base.into_iter().flat_map(move |base| words.clone().map(move |form| (form, base)))
    })
}

/// In each line, a base and its forms.
const FORMS: &str = "
    analysis analyses
    arise arisen arose
    awake awoke awoken
    bear borne
    beat beaten
    become became
    begin began begun
    bend bent
    bite bitten
    bleed bled
    blow blew blown
    break broke broken
    breed bred
    bring brought
    build built
    buy bought
    calf calves
    catch caught
    child children
    choose chose chosen
    cling clung
    come came
    creep crept
    criterion criteria
    deal dealt
    dig dug
    draw drawn drew
    dream dreamt
    drink drank drunk
    drive driven drove
    eat ate eaten
    fall fallen fell
    feed fed
    feel felt
    fight fought
    find found
    fly flew flown
    foot feet
    forbid forbade forbidden
    forget forgot forgotten
    forgive forgave forgiven
    freeze froze frozen
    get got gotten
    give gave given
    go gone went
    goose geese
    grow grew grown
    half halves
    hang hung
    hear heard
    hide hid hidden
    hold held
    index indices
    keep kept
    kneel knelt
    knife knives
    know knew known
    lead led
    learn learnt
    leave left
    lend lent
    lie lain
    light lit
    loaf loaves
    lose lost
    make made
    man men
    matrix matrices
    mean meant
    meet met
    mouse mice
    overcome overcame
    pay paid
    person people
    prove proven
    ride ridden rode
    ring rang rung
    rise risen
    run ran
    say said
    see saw seen
    seek sought
    self selves
    sell sold
    send sent
    shake shaken shook
    shelf shelves
    shine shone
    shoot shot
    show shown
    shrink shrank shrunk
    sing sang sung
    sink sank sunk
    sit sat
    sleep slept
    slide slid
    speak spoke spoken
    spend spent
    spin spun
    spring sprang sprung
    stand stood
    steal stole stolen
    stick stuck
    sting stung
    stride strode
    strike struck
    string strung
    swear swore sworn
    sweep swept
    swim swam swum
    swing swung
    take taken took
    teach taught
    tear tore torn
    tell told
    thief thieves
    think thought
    throw threw thrown
    tooth teeth
    undergo undergone underwent
    understand understood
    undo undid undone
    vertex vertices
    wake woke woken
    wear wore worn
    weave woven
    weep wept
    wife wives
    win won
    withdraw withdrawn withdrew
    wolf wolves
    woman women
    write written wrote
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{base_form, forms};

    #[test]
    fn each_form_has_one_base_which_is_no_form() {
        let mut seen = BTreeSet::new();
        for (form, base) in forms() {
            assert!(seen.insert(form), "{form} is there twice");
            assert_eq!(base_form(form), Some(base));
            assert_eq!(base_form(base), None, "{base} is a form itself");
        }
        assert!(seen.len() > 150);
    }
}
