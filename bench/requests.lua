-- Sends the requests of the file named behind `--`, one after the other and from the start again, as they are. One
-- with a body says its length as `Content-Length: n`.

local requests, count, at = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local text, from = file:read("*a"), 1
  file:close()
  while from <= #text do
    local _, to = text:find("\r\n\r\n", from, true)
    to = to + (tonumber(text:sub(from, to):match("\r\nContent%-Length: (%d+)\r\n")) or 0)
    count = count + 1
    requests[count] = text:sub(from, to)
    from = to + 1
  end
end

function request()
  at = at % count + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("measured %d %d %d %f %f %f",
    summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
