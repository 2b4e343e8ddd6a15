/**
 * Checks that the probe tries every command that the drivers beside it use, so that a new command cannot be
 * forgotten.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { describeTrouble, probeScripts, readEviction } from './redis-probe.ts'

const folder = new URL('./', import.meta.url)
const sources = readdirSync(folder)
  .filter((name) => /^redis-(?!probe)[a-z-]+(?<!\.test)\.ts$/.test(name))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))

const onCache = /^redis-(?:cache|snapshots|incarnation)\.ts$/
/** Snapshots are on one, anchors on the other. */
const onBoth = /^redis-snapshots\.ts$/

for (const connection of ['limits', 'cache'] as const) {
  test(`the probe of ${connection} tries what is used there`, () => {
    const texts = sources
      .filter(({ name }) => onBoth.test(name) || onCache.test(name) === (connection === 'cache'))
      .map(({ text }) => text)
    const inScripts = texts.flatMap((text) => [...text.matchAll(/redis\.call\('(\w+)'/g)])
    const direct = texts.flatMap((text) => [...text.matchAll(/link\.client\.(\w+?)(?:Buffer)?\(/g)])
    const used = new Set([...inScripts, ...direct].map(([, name = '']) => name.toUpperCase()))
    const tried = new Set(
      [...probeScripts[connection].matchAll(/^try\('(\w+)'/gm)].map(([, name]) => name),
    )
    assert.ok(used.size > 5)
    assert.deepEqual(
      [...used].filter((name) => !tried.has(name)),
      [],
    )
  })
}

test('a policy counts only where memory is bounded', () => {
  const of = (policy: string, bytes: number) =>
    readEviction(`# Memory\r\nmaxmemory:${bytes}\r\nmaxmemory_policy:${policy}\r\n`)
  assert.equal(of('allkeys-lru', 1000), 'allkeys-lru')
  assert.equal(of('allkeys-lru', 0), null)
  assert.equal(of('noeviction', 1000), null)
  assert.equal(readEviction(''), null)
})

test('the refusals of several versions name the command', () => {
  const words = [
    "NOPERM this user has no permissions to run the 'evalsha' command",
    "NOPERM User limited has no permissions to run the 'evalsha' command",
    "ERR The user executing the script can't run this command or subcommand script: x (tried: EVALSHA)",
    'ERR ACL failure in script: no permissions (tried: EVALSHA)',
  ]
  for (const text of words) {
    assert.equal(describeTrouble(new Error(text)), 'its user may not run EVALSHA')
  }
})

test('errors of the client and the server become plain messages for operators', () => {
  const words: readonly (readonly [string, RegExp])[] = [
    ["Stream isn't writeable and enableOfflineQueue options is false", /does not answer in time/],
    ['Command timed out', /does not answer in time/],
    ['NOAUTH HELLO must be called with the client already authenticated', /requires a password/],
    ['NOAUTH Authentication required.', /requires a password/],
    [
      'WRONGPASS invalid username-password pair or user is disabled.',
      /refuses the user or password/,
    ],
    ['ERR DB index is out of range', /no database of the number/],
    [
      "ERR unknown command 'eval', with args beginning with: ' local refusal = nil ",
      /^it knows no command EVAL: it was renamed or switched off there$/,
    ],
    ['Unknown RESP type 72 "H". Please report this.', /not Valkey or Redis/],
  ]
  for (const [text, plain] of words) assert.match(describeTrouble(new Error(text)), plain)
  const ofNode = 'self-signed certificate; if the root CA is installed locally, try running Node.js'
  const untrusted = Object.assign(new Error(ofNode), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  assert.match(
    describeTrouble(untrusted),
    /certificate .*\(self-signed certificate\).* NODE_EXTRA_CA_CERTS/,
  )
})
