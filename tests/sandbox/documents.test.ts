/**
 * The documentation of the sandbox says what the code says: the table of magic users, the commands, the
 * flags.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { magicUsers, sandboxProviders } from '#sandbox/magic-users.ts'
import { sandboxCommands, sandboxStart } from '../../cli/sandbox-commands.ts'

const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
const lines = document.split('\n')

/** The rows of the table with this first heading, as they stand. */
function rowsUnder(heading: string): string[] {
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`))
  const length = lines.slice(start).indexOf('')
  return lines.slice(start + 2, start + length)
}

test('docs/sandbox.md has exactly the table of magic users', () => {
  const rows = magicUsers.map(({ name, shows, at }) => {
    const cells = sandboxProviders.map((provider) => at[provider] ?? '–')
    return `| \`${name}\` | ${shows} | ${cells.join(' | ')} |`
  })
  assert.deepEqual(rowsUnder('Person'), rows)
  for (const { name, after } of magicUsers) {
    if (after !== null) assert.ok(lines.includes(`- \`${name}\`: \`${after.command}\``), name)
  }
})

test('docs/sandbox.md has every command with every flag, and no other', () => {
  const rows = rowsUnder('Command')
  for (const { noun, verb, flags, places } of sandboxCommands) {
    const words = [noun, verb, ...places].join(' ')
    const row = rows.filter((one) => one.startsWith(`| \`${words}`)).join('\n')
    // The flags of trades stand in a line of their own.
    const text = verb === 'rows add' ? `${row}\n${rows.find((one) => one.startsWith('| `…'))}` : row
    for (const { name } of flags) assert.match(text, new RegExp(`--${name}[ \\]]`), words)
    assert.notEqual(row, '', words)
  }
  assert.equal(rows.length, sandboxCommands.length + 1)
  for (const { name } of sandboxStart.flags) assert.ok(document.includes(`\`--${name}\``), name)
})
