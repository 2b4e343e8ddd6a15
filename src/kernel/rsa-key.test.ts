/** Private keys are read in every form in which people copy them, and refused with what to do. */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { isTrueKey, listKeyTexts, readPrivateKey, signByRsa } from './rsa-key.ts'

function makeKey(type: 'pkcs1' | 'pkcs8', bits = 2048, cipher?: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const options = cipher === undefined ? {} : { cipher, passphrase: 'x' }
  return privateKey.export({ type, format: 'pem', ...options }).toString()
}

const pem = makeKey('pkcs8')
const body = pem.split('\n').slice(1, -2)

const forms: readonly (readonly [string, string])[] = [
  ['as the file is', pem],
  ['with lines of Windows', pem.replaceAll('\n', '\r\n')],
  ['in one line with blanks', pem.replaceAll('\n', ' ')],
  ['in one line as a form field leaves it', pem.replaceAll('\n', '')],
  ['with written line ends', pem.replaceAll('\n', '\\n')],
  ['in base64', Buffer.from(pem).toString('base64')],
  ['in base64 with line ends', Buffer.from(pem).toString('base64').replace(/.{76}/g, '$&\n')],
  ['with text around it', `Bag Attributes\n  localKeyID: 01\n${pem}\nmore`],
]

for (const [name, text] of forms) {
  test(`a private key is read ${name}`, () => {
    assert.deepEqual(readPrivateKey(text), { kind: 'key', pem })
  })
}

test('PKCS#1 is read too, and both are keys that sign', () => {
  const read = readPrivateKey(makeKey('pkcs1'))
  assert.ok(read.kind === 'key')
  assert.equal(createPrivateKey(read.pem).asymmetricKeyType, 'rsa')
})

/** PKCS#1 (RFC 8017, A.1.2) of numbers of these lengths in bytes, which are no key. */
function makeUp(modulus: number, primes = modulus / 2): string {
  const lengths = [modulus, 1, modulus, primes, primes, primes, primes, primes]
  const numbers = lengths.map((bytes, index) => [0, ...Buffer.alloc(bytes, 0x5b + 2 * index)])
  const items = [[0], ...numbers].flatMap((bytes) => toDer(2, bytes))
  const text = Buffer.from(toDer(0x30, items)).toString('base64')
  const label = 'RSA PRIVATE KEY'
  return `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`
}

const toDer = (tag: number, bytes: readonly number[]): readonly number[] => {
  return [tag, 0x82, bytes.length >> 8, bytes.length & 255, ...bytes]
}

/** The same key with another public exponent. */
function makeFalseKey(): string {
  const key = { ...createPrivateKey(pem).export({ format: 'jwk' }), e: 'Aw' }
  return createPrivateKey({ key, format: 'jwk' })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()
}

const wrong: readonly (readonly [string, string, RegExp])[] = [
  ['nothing', '', /^is no PEM text/],
  ['a word', 'sekrit', /^is no PEM text/],
  ['the middle of a key', body.join('\n'), /^is no PEM text/],
  ['a cut key', pem.replace(body[3] ?? '', ''), /^cannot be read: it is cut or damaged/],
  [
    'a short one',
    makeKey('pkcs8', 1024),
    /^has fewer bits than it may have: make a new one of 2048 to 4096 bits$/,
  ],
  [
    'a long one',
    makeUp(2250),
    /^has more bits than it may have: make a new one of 2048 to 4096 bits$/,
  ],
  ['one with a number that is too long', makeUp(257, 1000), /^cannot be read/],
  ['one with a passphrase', makeKey('pkcs8', 2048, 'aes-256-cbc'), /^has a passphrase: remove it/],
]

for (const [name, text, expected] of wrong) {
  test(`${name} is refused with what to do, and without a part of it`, () => {
    const read = readPrivateKey(text)
    assert.ok(read.kind === 'problem')
    assert.match(read.detail, expected)
    for (const line of text.split('\n').filter((one) => one.length > 20)) {
      assert.ok(!read.detail.includes(line))
    }
  })
}

test('a key whose numbers do not belong together makes no signature that its public half accepts', async () => {
  assert.equal(await isTrueKey(pem), true)
  assert.equal(await isTrueKey(makeFalseKey()), false)
})

test('a signature is made beside the event loop', async () => {
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 0)
  const key = makeKey('pkcs8', 4096)
  turns = 0
  const signature = await signByRsa('text', key)
  clearInterval(timer)
  assert.ok(turns > 0, 'other work went on')
  assert.ok(verify('sha256', Buffer.from('text'), createPublicKey(key), signature))
})

test('the texts of a key are its lines, the whole in one line and its base64', () => {
  const texts = listKeyTexts(pem)
  assert.ok(texts.includes(body.join('')))
  assert.ok(body.every((line) => texts.includes(line)))
  assert.ok(texts.includes(Buffer.from(pem).toString('base64')))
})

test('a PKCS#1 key with a passphrase is named so, and a certificate before the key is passed over', () => {
  const { privateKey: locked } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const refused = readPrivateKey(locked)
  assert.match(refused.kind === 'problem' ? refused.detail : '', /^has a passphrase/)
  const { privateKey: pem } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const label = 'CERTIFICATE'
  const both = `-----BEGIN ${label}-----\nMIIB\n-----END ${label}-----\n${pem}`
  assert.deepEqual(readPrivateKey(both), { kind: 'key', pem })
})
