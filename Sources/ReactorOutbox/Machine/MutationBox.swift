import FastJSON
import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// A mutation of any type. A class, so that copying a value that contains it copies a reference.
final class MutationBox: Sendable {
  let value: any Mutation
  /// A Boolean value that indicates whether the request cannot be made again.
  var keepsRequest: Bool { value is RequestMutation }
  /// The mutation, unless it only stands for a request.
  var program: (any Mutation)? { keepsRequest ? nil : value }
  var onConflict: ConflictPolicy { type(of: value).onConflict }

  init(_ value: any Mutation) { self.value = value }

  /// Reads a saved mutation.
  ///
  /// - Throws: ``MutationError``.
  convenience init(_ entry: OutboxEntry, types: [String: any Mutation.Type]) throws(MutationError) {
    guard entry.name != RequestMutation.name else {
      self.init(RequestMutation())
      return
    }
    guard let type = types[entry.name] else { throw .unknownName(entry.name) }
    self.init(try Self.decode(type, entry.arguments, version: entry.version))
  }

  private static func decode<M: Mutation>(
    _ type: M.Type, _ json: Data, version: Int
  ) throws(MutationError) -> any Mutation {
    do {
      guard version != M.version else { return try decoder.decode(type, from: json) }
      guard version < M.version else { throw MutationError.noMigration(name: M.name, from: version, to: M.version) }
      let migrated = try M.migrate(JSONValue(parsing: json), from: version)
      return try decoder.decode(type, from: migrated.data())
    } catch let error as MutationError {
      throw error
    } catch {
      throw .notCodable(name: M.name, reason: "\(error)")
    }
  }

  private static let decoder = FastJSONDecoder()
  private static let encoder = {
    let encoder = FastJSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  /// Returns the JSON of a mutation, with sorted keys.
  static func encode<M: Mutation>(_ mutation: M) throws(ReactorError) -> Data {
    do { return try encoder.encode(mutation) } catch {
      let reason = Redaction.describe(error)
      throw .invalidResource("\(MutationError.notCodable(name: M.name, reason: reason))")
    }
  }

  var drafts: Drafts {
    var drafts = Drafts()
    value.draft(&drafts)
    return drafts
  }

  /// The answer to a mutation that the server has accepted.
  struct Answered: Sendable {
    var result: Result<any Sendable, ReactorError>
    /// The reason why the mutation itself does not accept it.
    var objection: ReactorError?
  }

  /// Parses the response to a mutation, and lets the mutation check it.
  ///
  /// A mutation may have been accepted although its response is an error or missing: a `DELETE`
  /// that an earlier attempt has carried out, or a redirect whose target fails. The mutation does
  /// not check these.
  func answer(
    _ result: Result<(HTTPResponse, Data), ReactorError>, _ configuration: ReactorConfiguration
  ) -> Answered {
    Self.answer(value, result, configuration)
  }

  private static func answer<M: Mutation>(
    _ mutation: M, _ result: Result<(HTTPResponse, Data), ReactorError>, _ configuration: ReactorConfiguration
  ) -> Answered {
    let response = try? result.get().0
    let model: M.Answer
    do { model = try answer(of: M.Answer.self, result, configuration) } catch {
      let isPage = error is ParserError && response?.headerFields.isHTML == true
      return Answered(
        result: .failure(ReactorError(error, wrap: ReactorError.network)),
        objection: isPage ? .network(ReactorError.Diverted()) : nil)
    }
    guard response?.status.kind == .successful else { return Answered(result: .success(model)) }
    do { try mutation.check(model) } catch {
      return Answered(result: .success(model), objection: ReactorError(error, wrap: ReactorError.network))
    }
    return Answered(result: .success(model))
  }

  /// Returns the consequences of an accepted mutation.
  func settlement(of answer: Answered) -> Settlement {
    var settlement = Settlement()
    if case .success(let model) = answer.result { Self.settle(value, model, &settlement) }
    return settlement
  }

  private static func settle<M: Mutation>(_ mutation: M, _ answer: any Sendable, _ settlement: inout Settlement) {
    guard let answer = answer as? M.Answer else { return }
    settlement.note(answer)
    mutation.settle(answer, &settlement)
  }

  private static func answer<Answer: Sendable>(
    of type: Answer.Type, _ result: Result<(HTTPResponse, Data), ReactorError>, _ configuration: ReactorConfiguration
  ) throws -> Answer {
    // Without a model, nothing of the response is read.
    if let nothing = () as? Answer { return nothing }
    let (response, body) = try result.get()
    guard Invalidation.isAcceptance(response) else { throw ReactorError.server(response, body: body) }
    return try Parser<Answer>.automatic(configuration).parse(body, contentType: response.headerFields[.contentType])
      .model
  }
}

/// A request that is sent as it was submitted, without a mutation type of the app.
struct RequestMutation: Mutation {
  typealias Answer = Data

  static var name: String { "reactor.request" }
  static var onConflict: ConflictPolicy { .refuse }

  /// Throws: the request is in the entry.
  func request(_ known: Known) throws -> Resource {
    throw ReactorError.invalidResource("the entry was saved without its request; discard it")
  }
}
