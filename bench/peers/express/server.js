// The vote check in Express, with its usual middleware: a key check, express-rate-limit, a handler.

import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import express from 'express'
import { rateLimit } from 'express-rate-limit'

const IDLE_MS = 75_000
const world = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const digest = key => createHmac('sha256', world.secret).update(key).digest('hex')

const votes = new Map()
for (const [bot, count] of world.bots) {
  const users = new Map()
  for (let i = 0; i < count; i++) users.set(String(BigInt(world.first_user) + BigInt(i)), [1, world.at_ms])
  votes.set(bot, users)
}
const botOf = new Map()
for (const [bot, key, user] of world.callers) {
  botOf.set(digest(key), bot)
  votes.get(bot).set(user, [1, world.at_ms])
}

function authorized(request, response, next) {
  const key = request.get('authorization')
  if (key !== undefined && botOf.get(digest(key)) === request.params.bot) return next()
  response.status(401).json({ success: false, error: 'Invalid API key.', status: 401 })
}

const limited = rateLimit({
  windowMs: world.window_seconds * 1_000,
  limit: world.limit,
  standardHeaders: 'draft-6',
  legacyHeaders: false,
  keyGenerator: request => request.params.bot
})

function voters(request, response) {
  const [vote, lastVote] = votes.get(request.params.bot).get(request.params.user) ?? [0, null]
  const voted = lastVote !== null && Date.now() - lastVote < world.voted_ms
  response.json({ voted, vote, lastVote })
}

const app = express().disable('x-powered-by').disable('etag')
app.get('/bots/:bot/voters/:user', authorized, limited, voters)
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`serving on http://127.0.0.1:${server.address().port}`)
})
server.keepAliveTimeout = IDLE_MS
