// `HTTPFields`, `HTTPRequest` and their like are part of this module's interface.
@_exported public import HTTPTypes
