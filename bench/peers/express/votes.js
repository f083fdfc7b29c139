// Casting a vote in Express 4 with ioredis, as a site would: a bearer token, express.json(), and three commands
// to Redis. SET NX is the cooldown, INCR counts, and LPUSH queues the webhook.

import { timingSafeEqual } from 'node:crypto'
import express from 'express-4'
import Redis from 'ioredis'

const IDLE_MS = 75_000
const SNOWFLAKE = /^[0-9]{17,20}$/
const [socket, token, cooldownMs] = process.argv.slice(2)
const redis = new Redis(socket)
const expected = Buffer.from(`Bearer ${token}`)

function authorized(request, response, next) {
  const given = Buffer.from(request.get('authorization') ?? '')
  if (given.length === expected.length && timingSafeEqual(given, expected)) return next()
  response.status(401).json({ success: false, error: 'Invalid operator token.', status: 401 })
}

async function cast(request, response) {
  const { bot } = request.params
  const { user } = request.body
  if (typeof user !== 'string' || !SNOWFLAKE.test(user)) {
    return response.status(400).json({ success: false, error: 'Invalid body.', status: 400 })
  }
  const now = Date.now()
  const isTaken = await redis.set(`cooldown:${bot}:${user}`, now, 'PX', cooldownMs, 'NX')
  if (isTaken === null) {
    return response.status(409).json({ success: false, error: 'The user has voted already.', status: 409 })
  }
  const [vote] = await Promise.all([
    redis.incr(`votes:${bot}:${user}`),
    redis.lpush('webhooks', JSON.stringify({ bot, user, at: now }))
  ])
  response.status(201).json({ success: true, vote, lastVote: now, nextVoteAt: now + Number(cooldownMs) })
}

const app = express().disable('x-powered-by').disable('etag')
app.post('/manage/bots/:bot/votes', authorized, express.json(), (request, response, next) => {
  cast(request, response).catch(next)
})
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`serving on http://127.0.0.1:${server.address().port}`)
})
server.keepAliveTimeout = IDLE_MS
