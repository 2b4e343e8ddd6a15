/**
 * Proves that log lines are machine-readable and that planted secrets never appear in them, whatever their
 * form.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { ApiError } from '#contract/errors.ts'
import { Secret } from '#kernel/secret.ts'
import { anyCharacter } from '#tests/support/any-character.ts'
import { type Log, loadPrettier, makeLog } from './log.ts'
import { makeRedactor } from './redact.ts'

const toPretty = await loadPrettier({ colorize: false })

function capture(body: (log: Log) => void, options: { pretty?: boolean; secrets?: string[] } = {}) {
  const lines: string[] = []
  body(
    makeLog({
      level: 'trace',
      ...(options.pretty === true ? { toPretty } : {}),
      secrets: options.secrets ?? [],
      destination: { write: (line) => void lines.push(line) },
    }),
  )
  return lines.join('')
}

const canary = 'C4nary0123456789abcdef'

test('a line is one JSON object with level, time, fields and message, and nothing about the machine', () => {
  const line = capture((log) => log.child({ requestId: 'r1' }).info({ status: 200 }, 'answered'))
  assert.ok(line.endsWith('}\n'))
  const { time, ...rest } = JSON.parse(line)
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, { level: 'info', requestId: 'r1', status: 200, msg: 'answered' })
})

test('lines below the level are not written', () => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = makeLog({ level: 'warn', destination })
  log.info('quiet')
  log.warn('loud')
  assert.equal(lines.length, 1)
})

/** Each form in which a secret can reach a log. */
const planted: Record<string, (log: Log) => void> = {
  'an authorization header': (log) => log.info({ headers: { authorization: `Bearer ${canary}` } }),
  'a header in capitals': (log) => log.info({ headers: { Authorization: `Basic ${canary}` } }),
  'a cookie header': (log) => log.info({ headers: { cookie: `session=${canary}; a=b` } }),
  'set-cookie as a list': (log) => log.info({ headers: { 'set-cookie': [`a=${canary}`, 'b=c'] } }),
  'a list of raw header lines': (log) => log.info({ raw: [`Cookie: sid=${canary}; other=1`] }),
  'a nested password': (log) => log.info({ body: { user: { password: canary } } }),
  'a password with quotes in it': (log) => log.info({ password: `a"b\\"${canary}` }),
  'a token that is a number': (log) => log.info({ token: 1234567890123456, t: 'C4nary' }),
  'a secret object': (log) => log.info({ secret: { value: canary } }),
  'an API key in a message': (log) => log.info(`key trib_live_${canary}${canary} refused`),
  'an API key inside a word': (log) => log.info({ path: `/x/trib_live_${canary}/y` }),
  'an Akahu user token': (log) => log.info({ who: `user_token_${canary}` }),
  'an Akahu app token': (log) => log.info({ who: `app_token_${canary}` }),
  'an Up token': (log) => log.info({ who: `up:yeah:${canary}` }),
  'an Up token in a message': (log) => log.info(`token Up:Yeah:${canary} refused`),
  'a SimpleFIN access URL': (log) =>
    log.info(`at https://${canary}:${canary}@bridge.example/simplefin`),
  'a SimpleFIN setup token': (log) => log.info({ pasted: `aHR0cHM6Ly${canary}` }),
  'a webhook secret': (log) => log.info({ shown: `whsec_${canary}+/=` }),
  'a bearer token in a message': (log) => log.info(`sent Bearer ${canary}`),
  'a JWT': (log) => log.info(`got eyJhbGciOiJIUzI1NiJ9.${canary}.${canary}`),
  'a SnapTrade URL': (log) =>
    log.info({ url: `https://api.example.test/accounts?userId=u&userSecret=${canary}` }),
  'a path with a query': (log) => log.info({ path: `/accounts?timestamp=1&x=${canary}` }),
  'a query without names': (log) => log.info({ url: `https://api.example.test/cb?${canary}` }),
  'the password of a database URL': (log) =>
    log.info({ msg: `cannot reach postgres://tributary:${canary}@db:5432/x` }),
  'a signature header': (log) => log.info({ headers: { Signature: `${canary}=` } }),
  'a signature in a text': (log) => log.info(`sent with Signature: ${canary}= and more`),
  'form parameters': (log) => log.info(`body client_id=a&client_secret=${canary}&grant_type=x`),
  'JSON inside a message': (log) => log.info(JSON.stringify({ access_token: canary, a: 1 })),
  'JSON with quotes inside a message': (log) =>
    log.info(`failed: ${JSON.stringify({ a: 1, userSecret: `x"y\\${canary}` })}`),
  'JSON inside JSON inside a message': (log) =>
    log.info(JSON.stringify({ body: JSON.stringify({ clientSecret: canary }) })),
  'an inspected object': (log) => log.info(inspect({ consumerKey: canary, n: 1 })),
  'an inspected value with a quote': (log) => log.info(inspect({ token: `it's ${canary}` })),
  'a password without a blank': (log) => log.info(`login password:${canary} failed`),
  'a password on a new line': (log) => log.info(`sent\npassword=${canary}\nend`),
  'a spelled-out password': (log) => log.info(`password: ${canary}`),
  'an error message': (log) => log.error(new Error(`GET https://x.test/a?userSecret=${canary}`)),
  'the cause of an error': (log) =>
    log.error({ err: new Error('outer', { cause: new Error(`token=${canary}`) }) }, 'failed'),
  'the fields of an error': (log) =>
    log.error({ err: Object.assign(new Error('x'), { body: canary, detail: canary }) }),
  'the stack of an error': (log) =>
    log.error({ err: Object.assign(new Error('x'), { stack: `Error: ${canary}\n    at y` }) }),
  'a thrown object': (log) => log.error({ err: { body: canary } }, 'thrown'),
  'a wrapped secret': (log) => log.info({ adminKey: new Secret(canary) }),
  'a format argument': (log) => log.info('refused %s', `Bearer ${canary}`),
  'a child binding': (log) => log.child({ apiKey: canary }).info('x'),
}

for (const [shape, plant] of Object.entries(planted)) {
  for (const pretty of [false, true]) {
    test(`${shape} does not reach the ${pretty ? 'pretty' : 'JSON'} log`, () => {
      const output = capture(plant, { pretty })
      assert.ok(output.length > 0)
      assert.doesNotMatch(output, /C4nary0|1234567890123456/)
      if (!pretty) assert.doesNotThrow(() => JSON.parse(output), output)
    })
  }
}

test('a secret known by its value is removed whatever the text around it', () => {
  const secret = 'pa"ss/wörd 123'
  const output = capture(
    (log) => {
      log.info(`the value is ${secret}.`)
      log.info({ plain: secret, url: encodeURIComponent(secret) })
    },
    { secrets: [secret, ''] },
  )
  assert.doesNotMatch(output, /ss\/w|ss%2F/)
  assert.equal(output.match(/\[secret\]/g)?.length, 3)
})

test('ordinary lines are left exactly as they are', () => {
  const redact = makeRedactor(['another-secret'])
  const lines = [
    '{"level":"info","msg":"listening","port":3000,"url":"http://127.0.0.1:3000/v1/accounts"}',
    '{"msg":"key revoked","prefix":"trib_live_0CiOts","owner":"ann@example.com"}',
    '{"err":{"type":"Error","code":"ECONNREFUSED","message":"connect ECONNREFUSED 127.0.0.1:5432"}}',
    '{"tokensIssued":3,"msg":"what next? nothing"}',
    '{"token":null,"cookie":null,"hasSecret":true}',
  ]
  for (const line of lines) assert.equal(redact(line), line)
})

test('any value under a secret name is removed, and the line is still JSON', () => {
  const names = ['password', 'access_token', 'clientSecret', 'Authorization', 'x-api-key']
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string({ unit: anyCharacter }), (name, text) => {
      const value = `${text}${canary}${text}`
      const output = capture((log) => log.info({ deep: { [name]: value, after: 'kept' } }, 'm'))
      assert.doesNotMatch(output, /C4nary0/)
      assert.equal(JSON.parse(output).deep.after, 'kept')
    }),
  )
})

test('an error is written as type, message, code, status, frames and causes, bounded in every direction', () => {
  let chain = new Error('root')
  for (let depth = 0; depth < 50; depth += 1) chain = new Error(`wrap ${depth}`, { cause: chain })
  const err = Object.assign(new TypeError('x'.repeat(5000), { cause: chain }), { code: 'E_X' })
  const written = JSON.parse(capture((log) => log.error({ err }, 'failed'))).err
  assert.equal(written.type, 'TypeError')
  assert.equal(written.code, 'E_X')
  assert.equal(written.message.length, 501)
  assert.ok(written.stack.length > 0 && written.stack.length <= 8)
  let depth = 0
  for (let cause = written; cause !== undefined; cause = cause.cause) depth += 1
  assert.equal(depth, 5)
})

test('an error of the catalogue shows its public name and its private cause', () => {
  const cause = new Error('socket hang up')
  const err = new ApiError('provider_unavailable', { cause, details: ['row 17'] })
  const written = JSON.parse(capture((log) => log.error({ err }, 'failed'))).err
  assert.equal(written.type, 'ApiError')
  assert.equal(written.status, 503)
  assert.equal(written.cause.message, 'socket hang up')
})

test('a cycle of causes and an aggregate end', () => {
  const cycle: Error & { cause?: unknown } = new Error('round')
  cycle.cause = cycle
  const err = new AggregateError(
    Array.from({ length: 99 }, () => cycle),
    'many',
  )
  const written = JSON.parse(capture((log) => log.error({ err }, 'failed'))).err
  assert.equal(written.errors.length, 5)
})

test('a name from outside cannot command the terminal', () => {
  const output = capture((log) => log.info({ path: '/\u001b[2J\u009b31m' }, 'bell \u0007'), {
    pretty: true,
  })
  assert.doesNotMatch(output, /[\u001b\u009b\u0007]/)
  assert.match(output, /INFO.*bell ·/)
})
