/**
 * The operations guide quotes messages of the log, of a failed start and of the doctor, for operators to
 * search for. Each quoted message must occur in the source. In the guide `…` stands for the parts that vary.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFiles, files, isTest, readText } from './tree.ts'

const pages = files.filter((path) => path.startsWith('docs/operations/'))

/** Two words or more, without the characters of paths, variables, headers and queries. */
const sentence = /^[A-Za-z…][A-Za-z\d’'…,:;.()-]*(?: [A-Za-z\d’'…,:;.()-]+)+$/

/** Code spans that begin with these words are commands, or name one. */
const programs = /^(?:npm|git|openssl|systemctl|sqlite3|valkey-cli|tributary|connections|store) /

/** The messages quoted in a page, in code spans outside its code blocks. */
function quotedIn(text: string): string[] {
  const spans = text
    .replaceAll(/^```.*?^```/gms, '')
    .split('\n')
    .flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span))
  return [...new Set(spans)].filter((span) => sentence.test(span) && !programs.test(span))
}

const sources = codeFiles
  .filter((path) => path.startsWith('src/') && !isTest(path))
  .map((path) => readText(path))

/** True when one source file has all the fixed parts of the message. */
function isWritten(message: string): boolean {
  const parts = message
    .split('…')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return sources.some((source) => parts.every((part) => source.includes(part)))
}

test('every message that the operations guide quotes occurs in the source', () => {
  const messages = pages.flatMap((page) => quotedIn(readText(page)))
  assert.ok(messages.length >= 20, `${messages.length} messages`)
  assert.deepEqual(
    messages.filter((message) => !isWritten(message)),
    [],
  )
})

test('quoted messages are found among commands, paths and queries', () => {
  const text =
    '`npm start` `GET /readyz` `a = 1` `port … is taken`\n```\n`in a block`\n```\n`made up words`'
  assert.deepEqual(quotedIn(text), ['port … is taken', 'made up words'])
  assert.deepEqual(quotedIn(text).map(isWritten), [true, false])
})
