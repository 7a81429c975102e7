//! Objects that are objects. What serde derives also takes a list of the members in their order, which no client means.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData};

/// A value that is written as an object and in no other way. The body of a request is checked as a whole; this is for
/// objects inside of it.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

#[cfg(test)]
mod tests {
    use crate::{parse, sessions::PatchIn};

    /// API-06
    #[test]
    fn a_list_does_not_pass_for_an_object() {
        let refused =
            |text: &str| parse::body::<PatchIn>(text.as_bytes()).unwrap_err().field_name().to_owned();
        assert_eq!(refused(r#"{"messages":[]}"#), "messages");
        assert_eq!(refused(r#"{"messages":{"append":[["m1","human","hi"]]}}"#), "messages/append[0]");
        assert_eq!(refused(r#"{"finish_agent":["a","completed"]}"#), "finish_agent");
        assert_eq!(refused(r#"{"messages":{"append":[{"role":7}]}}"#), "messages/append[0]/role");
        let fine = r#"{"messages":{"append":[{"role":"human","content":{"raw": 1}}]},"todo":null}"#;
        assert!(parse::body::<PatchIn>(fine.as_bytes()).is_ok());
    }
}
