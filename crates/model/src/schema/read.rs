//! Reads a schema into nodes. Every keyword is looked at here, so that a check finds nothing to complain of.

use super::{
    bounds::Room,
    draft::Draft,
    keyword::{Contains, Id, Items, Keyword, Kinds, Members, Node},
    number::Exact,
    pattern::Pattern,
    place::{Place, Step, pointer},
    reference::{self, Found, Link, Links},
};
use crate::Invalid;
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// Reads a schema; its own node is the first.
pub(super) fn read(schema: &Value, field: &str, room: &mut Room) -> Result<Vec<Node>, Invalid> {
    let draft = Draft::of(schema, field)?;
    let mut reader = Reader {
        field,
        draft,
        room,
        nodes: vec![],
        by_value: HashMap::new(),
        links: Links::of(schema, draft),
    };
    reader.schema(schema, None)?;
    while let Some(link) = reader.links.open.pop() {
        let id = match reader.links.find(schema, &link.target) {
            Ok(Found::Node(id)) => id,
            Ok(Found::Value(found)) => match reader.by_value.get(&address(found)) {
                Some(id) => *id,
                None => reader.schema(found, None).map_err(|invalid| invalid.at(link.field.clone()))?,
            },
            Err(why) => return Err(Invalid::field(link.field, why)),
        };
        reader.nodes[link.node].keywords[link.keyword] = Keyword::Ref(id);
    }
    reader.links.check_ids()?;
    reference::check_ends(&reader.nodes, field)?;
    Ok(reader.nodes)
}

/// What tells values of one document apart.
fn address(value: &Value) -> *const Value {
    value
}

struct Reader<'a> {
    field: &'a str,
    draft: Draft,
    room: &'a mut Room,
    nodes: Vec<Node>,
    by_value: HashMap<*const Value, Id>,
    links: Links,
}

/// Makes the keyword of a limit that is exclusive or not.
type Bound = fn(Exact, bool) -> Keyword;

type At<'p> = Option<&'p Place<'p>>;

impl Reader<'_> {
    /// The node of a schema, with those of the schemas in it.
    fn schema(&mut self, schema: &Value, at: At<'_>) -> Result<Id, Invalid> {
        self.room.take_subschema(self.field)?;
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.by_value.insert(address(schema), id);
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => self.nodes[id].keywords.push(Keyword::Nothing),
            Value::Object(members) => self.object(id, members, at)?,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(self.wrong(at, None, "must be a schema: an object, true or false"));
            }
        }
        Ok(id)
    }

    fn object(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        let place = |word| pointer(Some(&Place { above: at, step: Step::Member(word) }));
        self.links.name(schema, id, || format!("{}{}", self.field, pointer(at)));
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(target) = schema.get(word) else { continue };
            let Some(target) = target.as_str() else {
                return Err(self.wrong(at, Some(word), "must be a text"));
            };
            let (keyword, field) = (self.nodes[id].keywords.len(), format!("{}{}", self.field, place(word)));
            self.links.add(Link { node: id, keyword, target: target.to_owned(), field });
            // Until it is found.
            self.add(id, Keyword::Nothing);
            if word == "$ref" && self.draft.ref_stands_alone() {
                self.definitions(schema, at)?;
                return Ok(());
            }
        }
        self.plain(id, schema, at)?;
        self.numbers(id, schema, at)?;
        self.texts(id, schema, at)?;
        self.arrays(id, schema, at)?;
        self.objects(id, schema, at)?;
        self.combined(id, schema, at)?;
        self.definitions(schema, at)?;
        // Last, because they ask what the others have evaluated.
        for (word, make) in [
            ("unevaluatedItems", Keyword::UnevaluatedItems as fn(Id) -> Keyword),
            ("unevaluatedProperties", Keyword::UnevaluatedProperties),
        ] {
            if let Some(inner) = self.one(schema, word, at)?
                && self.draft >= Draft::Year2019
            {
                self.add(id, make(inner));
                self.nodes[id].asks_what_is_evaluated = true;
            }
        }
        Ok(())
    }

    fn plain(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        if let Some(named) = schema.get("type") {
            let names: Option<Vec<&str>> = match named {
                Value::Array(names) if !names.is_empty() => names.iter().map(Value::as_str).collect(),
                Value::String(name) => Some(vec![name]),
                Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
            };
            let kinds = names.and_then(|names| Kinds::of(&names));
            let reason = "must be one or several of array, boolean, integer, null, number, object, string";
            self.add(id, Keyword::Type(kinds.ok_or_else(|| self.wrong(at, Some("type"), reason))?));
        }
        if let Some(options) = schema.get("enum") {
            let options = options.as_array().ok_or_else(|| self.wrong(at, Some("enum"), "must be a list"))?;
            self.add(id, Keyword::Enum(options.clone()));
        }
        if let Some(value) = schema.get("const") {
            self.add(id, Keyword::Const(value.clone()));
        }
        Ok(())
    }

    fn numbers(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        let flagged = self.draft.bounds_are_flagged();
        let least: Bound = |limit, exclusive| Keyword::Least { limit, exclusive };
        let most: Bound = |limit, exclusive| Keyword::Most { limit, exclusive };
        let both = [("minimum", "exclusiveMinimum", least), ("maximum", "exclusiveMaximum", most)];
        for (word, exclusive, make) in both {
            if flagged {
                let is_exclusive = match schema.get(exclusive) {
                    None => false,
                    Some(Value::Bool(is_exclusive)) => *is_exclusive,
                    Some(_) => return Err(self.wrong(at, Some(exclusive), "must be true or false")),
                };
                if let Some(limit) = self.number(schema, word, at)? {
                    self.add(id, make(limit, is_exclusive));
                }
                continue;
            }
            if let Some(limit) = self.number(schema, word, at)? {
                self.add(id, make(limit, false));
            }
            if let Some(limit) = self.number(schema, exclusive, at)? {
                self.add(id, make(limit, true));
            }
        }
        if let Some(of) = self.number(schema, "multipleOf", at)? {
            if of.compare(Exact::Whole(0)).is_le() {
                return Err(self.wrong(at, Some("multipleOf"), "must be above 0"));
            }
            self.add(id, Keyword::MultipleOf(of));
        }
        Ok(())
    }

    fn texts(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        if let Some(least) = self.count(schema, "minLength", at)? {
            self.add(id, Keyword::MinLength(least));
        }
        if let Some(most) = self.count(schema, "maxLength", at)? {
            self.add(id, Keyword::MaxLength(most));
        }
        if let Some(text) = schema.get("pattern") {
            let text = text.as_str().ok_or_else(|| self.wrong(at, Some("pattern"), "must be a text"))?;
            let pattern = self.pattern(text, &Place { above: at, step: Step::Member("pattern") })?;
            self.add(id, Keyword::Pattern(pattern));
        }
        Ok(())
    }

    fn arrays(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        let mut prefix = self.list(schema, "prefixItems", at)?;
        let rest = match schema.get("items") {
            Some(Value::Array(_)) if self.draft.items_may_be_listed() => {
                prefix = self.list(schema, "items", at)?;
                self.one(schema, "additionalItems", at)?
            }
            Some(_) | None => self.one(schema, "items", at)?,
        };
        if !prefix.is_empty() || rest.is_some() {
            self.add(id, Keyword::Items(Items { prefix, rest }));
        }
        if let Some(least) = self.count(schema, "minItems", at)? {
            self.add(id, Keyword::MinItems(least));
        }
        if let Some(most) = self.count(schema, "maxItems", at)? {
            self.add(id, Keyword::MaxItems(most));
        }
        match schema.get("uniqueItems") {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => self.add(id, Keyword::UniqueItems),
            Some(_) => return Err(self.wrong(at, Some("uniqueItems"), "must be true or false")),
        }
        let (least, most) = (self.count(schema, "minContains", at)?, self.count(schema, "maxContains", at)?);
        if let Some(schema) = self.one(schema, "contains", at)? {
            // Older drafts do not know how often.
            let counted = self.draft >= Draft::Year2019;
            let least = least.filter(|_| counted).unwrap_or(1);
            let (most, evaluates) = (most.filter(|_| counted), self.draft.contains_evaluates());
            self.add(id, Keyword::Contains(Contains { schema, least, most, evaluates }));
        }
        Ok(())
    }

    fn objects(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        // As the map is sorted, so are they.
        let named = self.map(schema, "properties", at)?;
        let mut matching = vec![];
        for (text, id) in self.map(schema, "patternProperties", at)? {
            let above = Place { above: at, step: Step::Member("patternProperties") };
            matching
                .push((self.pattern(&text, &Place { above: Some(&above), step: Step::Member(&text) })?, id));
        }
        let others = self.one(schema, "additionalProperties", at)?;
        if !named.is_empty() || !matching.is_empty() || others.is_some() {
            self.add(id, Keyword::Members(Members { named, matching, others }));
        }
        if let Some(names) = schema.get("required") {
            let names = self.names(names, Some(&Place { above: at, step: Step::Member("required") }))?;
            self.add(id, Keyword::Required(names));
        }
        if let Some(least) = self.count(schema, "minProperties", at)? {
            self.add(id, Keyword::MinProperties(least));
        }
        if let Some(most) = self.count(schema, "maxProperties", at)? {
            self.add(id, Keyword::MaxProperties(most));
        }
        if let Some(inner) = self.one(schema, "propertyNames", at)? {
            self.add(id, Keyword::PropertyNames(inner));
        }
        self.dependent(id, schema, at)
    }

    fn dependent(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        let mut required = vec![];
        let mut schemas = self.map(schema, "dependentSchemas", at)?;
        let mut words = vec!["dependentRequired"];
        if self.draft.has_dependencies() {
            words.push("dependencies");
        }
        for word in words {
            let Some(all) = schema.get(word) else { continue };
            let above = Place { above: at, step: Step::Member(word) };
            let all = all.as_object().ok_or_else(|| self.wrong(at, Some(word), "must be an object"))?;
            for (name, needs) in all {
                let place = Place { above: Some(&above), step: Step::Member(name) };
                if word == "dependencies" && !needs.is_array() {
                    schemas.push((name.clone(), self.schema(needs, Some(&place))?));
                } else {
                    required.push((name.clone(), self.names(needs, Some(&place))?));
                }
            }
        }
        if !required.is_empty() {
            self.add(id, Keyword::DependentRequired(required));
        }
        if !schemas.is_empty() {
            self.add(id, Keyword::DependentSchemas(schemas));
        }
        Ok(())
    }

    fn combined(&mut self, id: Id, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        for (word, make) in [
            ("allOf", Keyword::AllOf as fn(Vec<Id>) -> Keyword),
            ("anyOf", Keyword::AnyOf),
            ("oneOf", Keyword::OneOf),
        ] {
            let all = self.list(schema, word, at)?;
            if !all.is_empty() {
                self.add(id, make(all));
            } else if schema.contains_key(word) {
                return Err(self.wrong(at, Some(word), "must not be empty"));
            }
        }
        if let Some(inner) = self.one(schema, "not", at)? {
            self.add(id, Keyword::Not(inner));
        }
        let (then, otherwise) = (self.one(schema, "then", at)?, self.one(schema, "else", at)?);
        if let Some(test) = self.one(schema, "if", at)?
            && self.draft >= Draft::Seven
        {
            self.add(id, Keyword::If { test, then, otherwise });
        }
        Ok(())
    }

    /// What only references lead to.
    fn definitions(&mut self, schema: &Map<String, Value>, at: At<'_>) -> Result<(), Invalid> {
        for word in ["$defs", "definitions"] {
            self.map(schema, word, at)?;
        }
        Ok(())
    }

    fn add(&mut self, id: Id, keyword: Keyword) {
        self.nodes[id].keywords.push(keyword);
    }

    fn one(&mut self, schema: &Map<String, Value>, word: &str, at: At<'_>) -> Result<Option<Id>, Invalid> {
        let place = Place { above: at, step: Step::Member(word) };
        schema.get(word).map(|inner| self.schema(inner, Some(&place))).transpose()
    }

    fn list(&mut self, schema: &Map<String, Value>, word: &str, at: At<'_>) -> Result<Vec<Id>, Invalid> {
        let Some(all) = schema.get(word) else { return Ok(vec![]) };
        let above = Place { above: at, step: Step::Member(word) };
        let all = all.as_array().ok_or_else(|| self.wrong(at, Some(word), "must be a list of schemas"))?;
        let each = |(index, inner)| {
            self.schema(inner, Some(&Place { above: Some(&above), step: Step::Item(index) }))
        };
        all.iter().enumerate().map(each).collect()
    }

    fn map(
        &mut self,
        schema: &Map<String, Value>,
        word: &str,
        at: At<'_>,
    ) -> Result<Vec<(String, Id)>, Invalid> {
        let Some(all) = schema.get(word) else { return Ok(vec![]) };
        let above = Place { above: at, step: Step::Member(word) };
        let all =
            all.as_object().ok_or_else(|| self.wrong(at, Some(word), "must be an object of schemas"))?;
        let mut read = Vec::with_capacity(all.len());
        for (name, inner) in all {
            let place = Place { above: Some(&above), step: Step::Member(name) };
            read.push((name.clone(), self.schema(inner, Some(&place))?));
        }
        Ok(read)
    }

    fn names(&self, names: &Value, at: At<'_>) -> Result<Vec<String>, Invalid> {
        let all = names.as_array().and_then(|names| {
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        all.ok_or_else(|| self.wrong(at, None, "must be a list of names"))
    }

    fn number(&self, schema: &Map<String, Value>, word: &str, at: At<'_>) -> Result<Option<Exact>, Invalid> {
        match schema.get(word) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(Exact::of(number))),
            Some(_) => Err(self.wrong(at, Some(word), "must be a number")),
        }
    }

    /// A whole number that is not negative, perhaps written as `2.0`.
    fn count(&self, schema: &Map<String, Value>, word: &str, at: At<'_>) -> Result<Option<u64>, Invalid> {
        match self.number(schema, word, at)? {
            None => Ok(None),
            Some(Exact::Whole(count)) if count >= 0 => Ok(Some(u64::try_from(count).unwrap_or(u64::MAX))),
            Some(Exact::Real(count)) if count >= 1.0 && count.fract() == 0.0 => Ok(Some(u64::MAX)),
            Some(Exact::Whole(_) | Exact::Real(_)) => {
                Err(self.wrong(at, Some(word), "must be a whole number that is not negative"))
            }
        }
    }

    fn pattern(&mut self, text: &str, at: &Place<'_>) -> Result<Arc<Pattern>, Invalid> {
        let field = format!("{}{}", self.field, pointer(Some(at)));
        Pattern::read(text, &field, self.room).map(Arc::new)
    }

    fn wrong(&self, at: At<'_>, word: Option<&str>, reason: &str) -> Invalid {
        let place = match word {
            Some(word) => pointer(Some(&Place { above: at, step: Step::Member(word) })),
            None => pointer(at),
        };
        Invalid::field(format!("{}{place}", self.field), reason)
    }
}
