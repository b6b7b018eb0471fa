import ArgumentParser

/// A host name or address of the command line, without a port.
enum HostArgument {
  static func parse(_ text: String) throws -> String {
    let bare = text.contains(":") && !text.hasPrefix("[") ? "[\(text)]" : text
    guard let name = ServedHosts.name(bare), !bare.hasSuffix(":"), !bare.contains(/[^:]:[0-9]*$/) || bare.hasPrefix("[")
    else { throw ValidationError("give a host name or address without a port, such as api.local or ::1") }
    return name.contains(":") ? "[\(name)]" : name
  }
}
