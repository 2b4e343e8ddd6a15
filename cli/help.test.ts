/**
 * The help texts, at every level, contain every option and its values, and come from the one table of
 * commands.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand } from '#tests/support/command.ts'
import { commands, mcpDoctor, placeMeanings } from './commands.ts'
import { parseInvocation } from './invocation.ts'
import { sandboxStart } from './sandbox-commands.ts'
import { setupCommand } from './setup/setup-command.ts'

const everyCommand = [setupCommand, ...commands, sandboxStart, mcpDoctor]

test('--help and -h at the level of a command show its usage and every option with its values', async () => {
  for (const { noun, verb, places, flags } of everyCommand) {
    const words = [noun, ...verb.split(' ').filter((word) => word !== '')]
    for (const args of [
      [...words, '--help'],
      ['-h', ...words],
      [...words, ...places.map(() => 'x'), '--json', '-h'],
    ]) {
      const { kind, text } = readHelp(args)
      assert.equal(kind, 'help', args.join(' '))
      assert.ok(text.includes(`usage: tributary ${words.join(' ')}`), text)
      for (const { name, value, help } of flags) {
        assert.ok(text.includes(value === null ? `--${name}` : `--${name} ${value}`), name)
        assert.ok(text.includes(help), help)
      }
      for (const general of ['--json', '--help, -h', '--version']) {
        assert.ok(text.includes(general), general)
      }
    }
  }
})

test('--help and -h at the level of a noun, of half a verb and of the whole show every option with its values', () => {
  const everywhere: (readonly string[])[] = [[]]
  for (const { noun, verb } of everyCommand) {
    everywhere.push([noun])
    if (verb.includes(' ')) everywhere.push([noun, verb.split(' ')[0] ?? ''])
  }
  for (const words of everywhere) {
    const within = everyCommand.filter(({ noun, verb }) =>
      `${noun} ${verb}`.trim().startsWith(words.join(' ')),
    )
    for (const flag of ['--help', '-h']) {
      const { text } = readHelp([...words, flag])
      for (const { noun, verb, flags } of within) {
        assert.ok(text.includes(`${noun} ${verb}`.trim()), `${noun} ${verb}`)
        for (const { name, value } of flags) {
          assert.ok(text.includes(value === null ? `--${name}` : `--${name} ${value}`), name)
        }
      }
    }
  }
})

test('every placeholder of an argument has a meaning', () => {
  const places = new Set(everyCommand.flatMap((command) => command.places))
  assert.deepEqual(
    [...places].filter((place) => (placeMeanings[place] ?? '') === ''),
    [],
  )
})

test('--help is on standard output and ends with 0; for a noun that is none it is wrong usage', async () => {
  for (const args of [['--help'], ['doctor', '--mcp', '-h'], ['sandbox', 'rows', '--help']]) {
    const { code, out, err } = await runCommand(args)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^usage: tributary /)
  }
  const nothing = await runCommand(['nothing', '--help'])
  assert.deepEqual([nothing.code, nothing.out], [2, ''])
  assert.match(nothing.err, /^tributary: there is no "nothing"\nusage: /)
})

test('a reader that closes the output early (a pipe to head) gets no stack trace', async () => {
  const command = fileURLToPath(new URL('./tributary.js', import.meta.url))
  const child = spawn(process.execPath, [command, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let output = ''
  child.stderr.on('data', (bytes) => {
    output += bytes
  })
  const [code] = await once(child, 'close')
  assert.deepEqual([code, output], [0, ''])
})

test('a file that does not take all of the output is exit 1 and one line, also with --json', async () => {
  const command = fileURLToPath(new URL('./main.ts', import.meta.url))
  const full = openSync('/dev/full', 'w')
  for (const more of [[], ['--json']]) {
    const args = [command, 'sandbox', '--help', ...more]
    const child = spawn(process.execPath, args, { stdio: ['ignore', full, 'pipe'] })
    let output = ''
    child.stderr?.on('data', (bytes) => {
      output += bytes
    })
    const [code] = await once(child, 'close')
    const message = 'Standard output could not be written: no space left on device (ENOSPC)'
    const line =
      more.length === 0 ? `tributary: ${message}` : JSON.stringify({ error: { message } })
    assert.deepEqual([code, output], [1, `${line}\n`])
  }
  closeSync(full)
})

function readHelp(args: readonly string[]): { readonly kind: string; readonly text: string } {
  const invocation = parseInvocation(args)
  return { kind: invocation.kind, text: invocation.kind === 'help' ? invocation.text : '' }
}
