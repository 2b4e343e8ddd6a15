/** Private keys are read in every form in which people copy them, and refused with what to do. */
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { listKeyTexts, readPrivateKey } from './rsa-key.ts'

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

const wrong: readonly (readonly [string, string, RegExp])[] = [
  ['nothing', '', /^is no PEM text/],
  ['a word', 'sekrit', /^is no PEM text/],
  ['the middle of a key', body.join('\n'), /^is no PEM text/],
  ['a cut key', pem.replace(body[3] ?? '', ''), /^cannot be read: it is cut or damaged/],
  ['a short one', makeKey('pkcs8', 1024), /^has fewer than 2048 bits/],
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

test('the texts of a key are its lines, the whole in one line and its base64', () => {
  const texts = listKeyTexts(pem)
  assert.ok(texts.includes(body.join('')))
  assert.ok(body.every((line) => texts.includes(line)))
  assert.ok(texts.includes(Buffer.from(pem).toString('base64')))
})
