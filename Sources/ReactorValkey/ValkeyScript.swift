#if Valkey
  import Foundation

  /// The scripts of a ``ValkeyStore``. Each concerns one key, so it is atomic and works on a
  /// cluster.
  ///
  /// A hash has these fields, where `r` is the name of a record. Times are microseconds of the
  /// server's clock since 1970, which a double holds exactly.
  ///
  /// | field | content |
  /// | --- | --- |
  /// | `c` `t` `f` | the first ticket, the latest ticket or fence, the fence |
  /// | `i` | the names of the records with a response, the oldest first |
  /// | `v:r` `u:r` `h:r` `b:r` | version of the body, version of the confirmation, head, body |
  /// | `l:r` `x:r` `w:r` | the ticket with the lease, its end, whether somebody waits |
  /// | `p:r` `e:r` | the end of the pass, the end of the failure |
  struct ValkeyScript: Sendable {
    let name: String
    let text: String

    private static let clock = """
      local T = redis.call('TIME')
      local now = T[1] * 1000000 + T[2]
      local function text(n) return string.format('%.0f', n) end

      """

    /// Arguments: record, lease in µs, wish, retention in ms.
    static let begin = ValkeyScript(
      name: "begin",
      text: clock + """
        local k, r = KEYS[1], ARGV[1]
        local s = redis.call('HMGET', k, 'c', 't', 'f', 'v:'..r, 'u:'..r, 'x:'..r, 'p:'..r, 'e:'..r)
        local pass = (tonumber(s[7]) or 0) > now
        local function keep()
          if redis.call('PTTL', k) < tonumber(ARGV[4]) then redis.call('PEXPIRE', k, ARGV[4]) end
        end
        local function reply(kind, n) return {kind, text(n), s[4], s[5], s[3]} end
        if ARGV[3] == 'lease' then
          if (tonumber(s[8]) or 0) > now then return reply('failed', s[8] - now) end
          if not pass and (tonumber(s[6]) or 0) > now then
            redis.call('HSET', k, 'w:'..r, 1)
            keep()
            return reply('held', s[6] - now)
          end
        end
        local ticket = math.max(now, (tonumber(s[2]) or 0) + 1)
        local written = text(ticket)
        local first = s[1] and 't' or 'c'
        local kind = 'pass'
        if ARGV[3] == 'lease' and not pass then
          kind = 'granted'
          redis.call(
            'HSET', k, 't', written, first, written, 'l:'..r, written, 'x:'..r, text(now + ARGV[2]))
        else
          redis.call('HSET', k, 't', written, first, written)
        end
        keep()
        return {kind, written, s[4], s[5], s[3]}
        """)

    /// Arguments: record, ticket, lease in µs.
    static let renew = ValkeyScript(
      name: "renew",
      text: clock + """
        if redis.call('HGET', KEYS[1], 'l:'..ARGV[1]) ~= ARGV[2] then return 0 end
        redis.call('HSET', KEYS[1], 'x:'..ARGV[1], text(now + ARGV[3]))
        return 1
        """)

    /// Arguments: record, ticket, retention in ms, channel, message, limit of records, head, body,
    /// and the version that is confirmed or nothing.
    static let commit = ValkeyScript(
      name: "commit",
      text: """
        local k, r, ticket, base = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[9]
        local s = redis.call('HMGET', k, 'c', 'f', 'v:'..r, 'u:'..r, 'w:'..r, 'i')
        if not s[1] or tonumber(s[1]) > ticket then return 'lost' end
        if (tonumber(s[2]) or 0) >= ticket then return 'fenced' end
        if math.max(tonumber(s[3]) or 0, tonumber(s[4]) or 0) >= ticket then return 'older' end
        local news = s[5]
        if base ~= '' then
          if s[3] ~= base then return 'older' end
          redis.call('HSET', k, 'u:'..r, ARGV[2], 'h:'..r, ARGV[7])
        else
          news = news or s[3]
          local names = {}
          for name in string.gmatch(s[6] or '', '%S+') do
            if name ~= r then names[#names + 1] = name end
          end
          names[#names + 1] = r
          while #names > tonumber(ARGV[6]) do
            -- The oldest variant, since the others are found by the first record; without one, the oldest.
            local place = 1
            for n = #names - 1, 1, -1 do
              if string.find(names[n], '.', 1, true) then place = n end
            end
            local o = table.remove(names, place)
            redis.call('HDEL', k, 'v:'..o, 'u:'..o, 'h:'..o, 'b:'..o, 'l:'..o, 'x:'..o, 'w:'..o, 'p:'..o, 'e:'..o)
          end
          redis.call('HSET', k, 'v:'..r, ARGV[2], 'h:'..r, ARGV[7], 'b:'..r, ARGV[8], 'i', table.concat(names, ' '))
        end
        local confirmed = base == '' and 'u:'..r or '-'
        redis.call('HDEL', k, confirmed, 'l:'..r, 'x:'..r, 'w:'..r, 'p:'..r, 'e:'..r)
        if redis.call('PTTL', k) < tonumber(ARGV[3]) then redis.call('PEXPIRE', k, ARGV[3]) end
        if news then redis.call('PUBLISH', ARGV[4], ARGV[5]) end
        return 'kept'
        """)

    /// Arguments: record, ticket, the field of what comes of it or nothing, its time in µs,
    /// channel, message.
    static let release = ValkeyScript(
      name: "release",
      text: clock + """
        local k, r = KEYS[1], ARGV[1]
        local s = redis.call('HMGET', k, 'l:'..r, 'w:'..r)
        if s[1] ~= ARGV[2] then return 0 end
        redis.call('HDEL', k, 'l:'..r, 'x:'..r, 'w:'..r)
        if ARGV[3] ~= '' then redis.call('HSET', k, ARGV[3]..':'..r, text(now + ARGV[4])) end
        if s[2] then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
        return 1
        """)

    /// Arguments: the version of an earlier fence or nothing, channel, message without the version,
    /// whether the records are removed.
    ///
    /// A server that has no memory left refuses a script at its first write, unless that write
    /// cannot need memory. So the first one removes a field that nothing has.
    static let fence = ValkeyScript(
      name: "fence",
      text: clock + """
        local k = KEYS[1]
        local s = redis.call('HMGET', k, 'c', 't', 'f')
        local fence = math.max(now, (tonumber(s[2]) or 0) + 1)
        if ARGV[1] ~= '' then
          fence = tonumber(ARGV[1])
          if (tonumber(s[3]) or 0) >= fence then return ARGV[1] end
        end
        redis.call('HDEL', k, '-')
        if ARGV[4] == '1' then
          redis.call('UNLINK', k)
        elseif s[1] then
          redis.call('HSET', k, 'f', text(fence), 't', text(math.max(fence, tonumber(s[2]) or 0)))
        end
        redis.call('PUBLISH', ARGV[2], ARGV[3]..text(fence))
        return text(fence)
        """)

    /// Arguments: a new generation, whether it replaces the current one, retention in ms, channel,
    /// message without the generation.
    static let generation = ValkeyScript(
      name: "generation",
      text: """
        local g = redis.call('GET', KEYS[1])
        if g and ARGV[2] == '0' then
          redis.call('PEXPIRE', KEYS[1], ARGV[3])
          return g
        end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
        if ARGV[2] == '1' then redis.call('PUBLISH', ARGV[4], ARGV[5]..ARGV[1]) end
        return ARGV[1]
        """)

    /// Arguments: the number of the beat, retention in ms, channel.
    ///
    /// The message is published only if the write was possible.
    static let beat = ValkeyScript(
      name: "beat",
      text: """
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        redis.call('PUBLISH', ARGV[3], ARGV[1])
        return redis.call('GET', KEYS[1])
        """)

    static let all = [begin, renew, commit, release, fence, generation, beat]
  }
#endif
