// Records, keys, scopes and persistence are part of this module's interface, and so are `HTTPFields`, `HTTPRequest` and their
// like: a program imports one module.
@_exported public import HTTPCaching
@_exported public import HTTPTypes
