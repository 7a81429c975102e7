//! Pages of lists: `{items, next_cursor?}`, everywhere the same (API-17).

/// Names the page of an item.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident of $item:ty) => {
        $(#[$doc])*
        #[derive(Debug, serde::Serialize, utoipa::ToSchema)]
        pub struct $name {
            /// The items.
            pub items: Vec<$item>,
            /// Give it as `cursor` to get the next page.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub next_cursor: Option<String>,
        }
    };
}
pub(crate) use list;
