//! What the fields of the blackboard hold (ST-01).

use super::{World, code, set};
use crate::{
    Rejection,
    session::fields::{ORDINARY, Shape},
};
use cardwire_model::InvalidCode;
use serde_json::{Value, json};

#[test]
fn st_01_a_field_that_the_blackboard_does_not_have_is_refused() {
    let mut world = World::new();
    assert_eq!(code(world.try_patch(&set(json!({ "mood": "good" })))), InvalidCode::BlackboardKey);
    for (field, shape) in ORDINARY {
        let value = value_of(shape);
        world.patch(&set(json!({ field: value })));
        assert_eq!(world.state.fields[field], value);
    }
    assert!(world.try_patch(&set(json!({ "session_id": "other" }))).is_err());
    world.patch(&set(json!({ "session_id": "s", "namespace": "default" })));
}

fn value_of(shape: Shape) -> Value {
    match shape {
        Shape::Text | Shape::Notes | Shape::Any => json!("x"),
        Shape::Count => json!(0),
        Shape::Keys => json!(["a"]),
        Shape::List => json!([{ "id": "t1" }]),
    }
}

/// ST-01, W-10
#[test]
fn st_01_a_value_of_another_type_is_refused_by_name_and_null_takes_any_away() {
    let mut world = World::new();
    let values = [json!(true), json!(-1), json!(0.5), json!(7), json!("x"), json!([1]), json!({ "a": 1 })];
    for (field, shape) in ORDINARY {
        let taken: Vec<_> =
            values.iter().map(|value| world.try_patch(&set(json!({ field: value })))).collect();
        let expected = match shape {
            Shape::Text => [false, false, false, false, true, false, false],
            Shape::Count => [false, false, false, true, false, false, false],
            Shape::Keys => [false; 7],
            Shape::List => [false, false, false, false, false, true, false],
            Shape::Notes => [false, false, false, false, true, true, true],
            Shape::Any => [true; 7],
        };
        assert_eq!(taken.iter().map(Result::is_ok).collect::<Vec<_>>(), expected, "{field}");
        for refused in taken.into_iter().filter_map(Result::err) {
            let Rejection::Invalid(invalid) = refused else { panic!("{refused:?}") };
            assert!(invalid.to_string().contains(&format!("set/{field}")), "{invalid}");
        }
        world.patch(&set(json!({ field: null })));
        assert_eq!(world.state.fields.get(field), None);
    }
}
