/**
 * The documentation door over HTTP: what it sends, cache headers, conditional requests, and which paths it
 * leaves to others.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { docsDoor } from './docs-door.ts'

const document = { openapi: '3.1.0', info: { title: 'Test', version: '1' }, paths: {} }

async function openDoor(): Promise<FastifyInstance & AsyncDisposable> {
  const fastify = Fastify({ exposeHeadRoutes: true })
  await fastify.register(docsDoor, { document: () => document })
  return Object.assign(fastify, { [Symbol.asyncDispose]: () => fastify.close() })
}

test('the document is public JSON that any page may read, and is asked for again by its tag', async () => {
  await using door = await openDoor()
  const first = await door.inject('/openapi.json')
  assert.equal(first.statusCode, 200)
  assert.equal(first.headers['content-type'], 'application/json')
  assert.equal(first.headers['access-control-allow-origin'], '*')
  assert.equal(first.headers['cache-control'], 'public, max-age=300')
  assert.deepEqual(first.json(), document)
  const tag = String(first.headers.etag)
  assert.match(tag, /^"[0-9a-f]{20}"$/)
  const known = `"other", W/${tag}`
  const again = await door.inject({ url: '/openapi.json', headers: { 'if-none-match': known } })
  assert.equal(again.statusCode, 304)
  assert.equal(again.body, '')
  assert.equal(again.headers['access-control-allow-origin'], '*')
  const other = await door.inject({ url: '/openapi.json', headers: { 'if-none-match': '"x"' } })
  assert.equal(other.statusCode, 200)
})

test('a client gets gzip only when it accepts it, under a tag of its own', async () => {
  await using door = await openDoor()
  const ask = (accept: string) =>
    door.inject({ url: '/openapi.json', headers: { 'accept-encoding': accept } })
  const plain = await ask('identity')
  for (const accept of ['gzip', 'br, GZIP;q=0.5', '*', 'x-gzip', 'identity;q=0.5, gzip']) {
    const packed = await ask(accept)
    assert.equal(packed.headers['content-encoding'], 'gzip', accept)
    assert.equal(packed.headers.vary, 'Accept-Encoding')
    assert.notEqual(packed.headers.etag, plain.headers.etag)
    assert.deepEqual(gunzipSync(packed.rawPayload), plain.rawPayload)
  }
  for (const accept of [
    '',
    'br',
    'gzip;q=0',
    'gzip;q=0;level=1',
    'gzip; q=0.000, *',
    '*;q=0',
    'gzip;q=0.5, identity;q=1',
    'identity, *;q=0.1',
  ]) {
    assert.equal((await ask(accept)).headers['content-encoding'], undefined, accept)
  }
})

test('the page names only assets of this server, and each of them is there and may be kept forever', async () => {
  await using door = await openDoor()
  const page = await door.inject('/doc')
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  const links = [...page.body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url = '']) => url)
  // F28: the way back, and the document itself.
  const others = ['/', '/openapi.json']
  assert.ok(others.every((url) => links.includes(url)))
  const assets = links.filter((url) => !others.includes(url))
  assert.equal(assets.length, 4)
  for (const url of assets) {
    assert.match(url, /^\/doc\/assets\/[a-z]+-[0-9a-f.]+\.(?:js|css|svg)$/)
    const asset = await door.inject(url)
    assert.equal(asset.statusCode, 200, url)
    assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(asset.headers['x-content-type-options'], 'nosniff')
    assert.ok(asset.rawPayload.length > 100, url)
  }
})

test('the page forbids scripts in itself, scripts from text, and every other host', async () => {
  await using door = await openDoor()
  const page = await door.inject('/doc')
  const policy = new Map(
    String(page.headers['content-security-policy'])
      .split('; ')
      .map((rule): [string, string] => {
        const [name = '', ...sources] = rule.split(' ')
        return [name, sources.join(' ')]
      }),
  )
  assert.equal(policy.get('default-src'), "'self'")
  assert.equal(policy.get('script-src'), "'self'")
  assert.equal(policy.get('connect-src'), "'self'")
  assert.equal(policy.get('frame-ancestors'), "'none'")
  assert.doesNotMatch([...policy.values()].join(' '), /unsafe-eval|https?:|\*/)
  assert.doesNotMatch(page.body, /<script>|<script [^>]*>[^<]/)
})

test('a reader without JavaScript is sent to the document', async () => {
  await using door = await openDoor()
  const page = await door.inject('/doc')
  assert.match(page.body, /<noscript>[\s\S]*href="\/openapi\.json"[\s\S]*<\/noscript>/)
})

test('R4: other methods, other spellings and unknown assets are not answered by this door', async () => {
  await using door = await openDoor()
  const asked = [
    ['HEAD', '/doc'],
    ['HEAD', '/openapi.json'],
    ['POST', '/openapi.json'],
    ['OPTIONS', '/openapi.json'],
    ['GET', '/doc/'],
    ['GET', '/Doc'],
    ['GET', '/openapi.json/'],
    ['GET', '/doc/assets/none.js'],
    ['GET', '/doc/assets/../docs-door.ts'],
  ] as const
  for (const [method, url] of asked) {
    assert.equal((await door.inject({ method, url })).statusCode, 404, `${method} ${url}`)
  }
})

test('concurrent readers all get the same script', async () => {
  await using door = await openDoor()
  const [, url = ''] =
    /src="(\/doc\/assets\/scalar-[^"]+)"/.exec((await door.inject('/doc')).body) ?? []
  const answers = await Promise.all([1, 2, 3].map(() => door.inject(url)))
  assert.equal(new Set(answers.map((answer) => answer.headers.etag)).size, 1)
  assert.match(answers[0]?.body ?? '', /createApiReference/)
})
