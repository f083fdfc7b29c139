-- Sends the requests of the file named behind `--`, one after the other and from the start again, as they are.

local requests, count, at = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch(".-\r\n\r\n") do
    count = count + 1
    requests[count] = request
  end
  file:close()
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
