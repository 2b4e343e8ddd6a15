/** Secrets from standard input and from a terminal: what is read, what is shown, and how it ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeLineReader, readSecrets, type SecretInput } from './read-secrets.ts'
import { Refusal } from './server.ts'

async function* sendAll(chunks: readonly (string | Uint8Array)[]) {
  yield* chunks
}

const makePipe = (...chunks: (string | Uint8Array)[]): SecretInput => sendAll(chunks)

function makeTerminal(...keys: string[]) {
  const raw: boolean[] = []
  let shown = ''
  const input: SecretInput = Object.assign(sendAll(keys), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => raw.push(isRaw),
  })
  const show = (text: string) => {
    shown += text
  }
  return { input, show, raw, shown: () => shown }
}

const nothing = () => {}
const saying = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Refusal)
  assert.match(error.message, words)
  return true
}

test('a pipe gives one line for each secret, however it is cut, and needs no last line end', async () => {
  const split = Buffer.from('zwei-ü\n')
  const pipe = makePipe('on', 'e\r\n', split.subarray(0, 6), split.subarray(6), 'three')
  const names = ['--a', '--b', '--c']
  assert.deepEqual(await readSecrets(pipe, names, nothing), ['one', 'zwei-ü', 'three'])
})

test('a pipe that ends early or has an empty line is refused, and the refusal shows no secret', async () => {
  await assert.rejects(
    readSecrets(makePipe(), ['--a'], nothing),
    saying(/^Standard input is empty/),
  )
  for (const text of ['sekrit\n', 'sekrit\n\nmore\n']) {
    const words = /^Standard input ends after 1 of 2 secrets; send one line each for --a, --b$/
    await assert.rejects(readSecrets(makePipe(text), ['--a', '--b'], nothing), saying(words))
  }
})

test('a secret that is broken over two lines is refused as such, and shown nowhere', async () => {
  const words = /^Standard input has more than one line for each of --token; is a secret broken/
  const reading = readSecrets(makePipe('up:yeah:se\nkrit\n'), ['--token'], nothing)
  await assert.rejects(reading, saying(words))
  await assert.rejects(reading, (error: Error) => !/se\b|krit/.test(error.message))
  // Empty lines at the end are no second half.
  assert.deepEqual(await readSecrets(makePipe('one\r\n\r\n'), ['--token'], nothing), ['one'])
})

test('a line without end is refused before it fills the memory', async () => {
  const endless = makePipe('x'.repeat(10_000), 'x'.repeat(10_000), 'x'.repeat(10_000))
  await assert.rejects(readSecrets(endless, ['--a'], nothing), saying(/more than 16384 characters/))
  const terminal = makeTerminal('x'.repeat(20_000))
  const reading = readSecrets(terminal.input, ['--a'], terminal.show)
  await assert.rejects(reading, saying(/more than 16384 characters/))
})

test('a terminal is asked for each secret and shows none of it; a paste of two lines answers both', async () => {
  const terminal = makeTerminal('up:yeah:1\rsecond\r')
  const secrets = await readSecrets(terminal.input, ['--token', '--other'], terminal.show)
  assert.deepEqual(secrets, ['up:yeah:1', 'second'])
  assert.equal(terminal.shown(), '--token: \n--other: \n')
  assert.deepEqual(terminal.raw, [true, false])
})

test('what is not secret is shown as it is typed; erasing and arrow keys work as in a shell', async () => {
  const terminal = makeTerminal('emmx', '\x7f', 'a\x1b[D\x1b[3~', '\x01', '\r')
  const reader = makeLineReader(terminal.input, terminal.show)
  assert.equal(await reader.ask({ text: 'E-mail: ', isSecret: false }), 'emma')
  assert.equal(terminal.shown(), 'E-mail: emmx\b \ba\n')
  const again = makeTerminal('wrong\x15', 'right\r')
  const other = makeLineReader(again.input, again.show)
  assert.equal(await other.ask({ text: '', isSecret: true }), 'right')
})

test('Ctrl-C and Ctrl-D stop, and the terminal is as it was after both', async () => {
  for (const typed of ['sek\x03', '\x04']) {
    const { input, show, raw } = makeTerminal(typed)
    const reading = readSecrets(input, ['--a'], show)
    await assert.rejects(reading, saying(/^Stopped; nothing was changed$/))
    assert.deepEqual(raw, [true, false])
  }
})

test('the terminal shows nothing that is typed before the question stands there', async () => {
  const terminal = makeTerminal('secret\r')
  const order: string[] = []
  const input = Object.assign(terminal.input, {
    setRawMode: (isRaw: boolean) => order.push(`raw ${isRaw}`),
  })
  await readSecrets(input, ['--a'], (text) => order.push(text))
  assert.deepEqual(order, ['raw true', '--a: ', '\n', 'raw false'])
})

test('between two questions the terminal is as it was before, and what was typed ahead is kept', async () => {
  const terminal = makeTerminal('one\rtwo\r')
  const reader = makeLineReader(terminal.input, terminal.show)
  assert.equal(await reader.ask({ text: '', isSecret: true }), 'one')
  reader.pause()
  assert.deepEqual(terminal.raw, [true, false])
  assert.equal(await reader.ask({ text: '', isSecret: true }), 'two')
  await reader.close()
  assert.deepEqual(terminal.raw, [true, false, true, false])
  const stopped = makeTerminal('\x03')
  const other = makeLineReader(stopped.input, stopped.show)
  const asking = other.ask({ text: '', isSecret: true, ifStopped: 'Half is done' })
  await assert.rejects(asking, saying(/^Half is done$/))
})

test('a PEM text is read to its end, as a file or pasted on a terminal, and the next secret follows it', async () => {
  const label = 'PRIVATE KEY'
  const pem = [`-----BEGIN ${label}-----`, 'MIIE', 'AAAA', `-----END ${label}-----`].join('\n')
  const names = ['--private-key', '--session']
  assert.deepEqual(await readSecrets(makePipe(`${pem}\nnext\n`), names, nothing), [pem, 'next'])
  const terminal = makeTerminal(`${pem.replaceAll('\n', '\r')}\r`, 'next\r')
  assert.deepEqual(await readSecrets(terminal.input, names, terminal.show), [pem, 'next'])
  assert.ok(!terminal.shown().includes('MIIE'))
})
