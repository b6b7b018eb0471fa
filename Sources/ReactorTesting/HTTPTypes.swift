// `HTTPFields`, `HTTPRequest` and the like are part of this module's interface, so importing the
// module imports them.
@_exported public import HTTPTypes
