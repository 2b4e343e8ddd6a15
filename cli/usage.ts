/** The help texts, generated from the table of commands: nothing about a command is written twice. */
import type { Flag, Words } from './command.ts'
import { commands, mcpDoctor, placeMeanings, webhooksListen } from './commands.ts'
import { conformanceCommand } from './conformance/conformance-command.ts'
import { exportCommand } from './export-command.ts'
import { sandboxStart } from './sandbox-commands.ts'
import { setupCommand } from './setup/setup-command.ts'
import { storeCopy } from './store-copy-command.ts'

/** In the order of the help text. */
const everything: readonly Words[] = [
  setupCommand,
  ...commands,
  webhooksListen,
  exportCommand,
  conformanceCommand,
  storeCopy,
  sandboxStart,
  mcpDoctor,
]

/** The line that is printed after a wrong use of the command. */
export function usageLine(command: Words): string {
  return `usage: tributary ${callOf(command)}`
}

/**
 * The text of `--help`: for one command, for all whose words begin with those given, or for everything. It
 * contains every option with its values. Null when no command begins with these words.
 * @param words the command line without its flags.
 */
export function findHelp(words: readonly string[]): string | null {
  const exact = everything.filter(
    (command) => command.verb !== '' && wordsOf(command).every((word, at) => word === words[at]),
  )
  const begun = everything.filter((command) =>
    words.every((word, at) => word === wordsOf(command)[at]),
  )
  const [noun = ''] = words
  // With unknown words after a noun, help for the whole noun is more useful than an error.
  const own = everything.filter((command) => command.noun === noun)
  const found = [exact, begun, own].find((list) => list.length > 0)
  if (words.length === 0) return overview()
  return found === undefined ? null : describe(found)
}

/** `--help` without a command. */
function overview(): string {
  return [
    'usage: tributary <noun> <verb> [arguments] [options]',
    '',
    ...everything.flatMap((command) => [`  ${callOf(command)}`, `      ${command.summary}`]),
    '',
    ...footer,
  ].join('\n')
}

/** All commands without their options, for input that matches none. */
export function shortList(): string {
  return [
    'usage: tributary <noun> <verb> [arguments] [options]',
    '',
    ...toColumns(
      everything.map((command) => [
        [...wordsOf(command), ...command.places].join(' '),
        command.summary,
      ]),
      '  ',
    ),
    '',
    'tributary --help lists the options of each.',
    '',
  ].join('\n')
}

/** One noun, for input that matches none of its commands. */
export function nounHelp(noun: string): string {
  return describe(everything.filter((command) => command.noun === noun))
}

function describe(list: readonly Words[]): string {
  const blocks = list.flatMap((command) => [
    usageLine(command),
    `  ${command.summary}`,
    ...toColumns(listWords(command), '    '),
    '',
  ])
  return [...blocks, ...footer].join('\n')
}

/** Its arguments and options with their meanings. */
function listWords(command: Words): (readonly [string, string])[] {
  const places = command.places.map((place) => [place, placeMeanings[place] ?? ''] as const)
  const flags = command.flags.map((flag) => {
    const secret = flag.isSecret === true ? '; - reads it from standard input' : ''
    return [flagText(flag), `${flag.help}${secret}`] as const
  })
  return [...places, ...flags]
}

const footer = [
  'Every command takes these:',
  ...toColumns(
    [
      ['--json', 'print the answer as one JSON document, a refusal as one on standard error'],
      ['--help, -h', 'this help, at every level: tributary, a noun, a command'],
      ['--version', 'the version'],
    ],
    '  ',
  ),
  '',
  'ADMIN_URL names the server (http://127.0.0.1:3001), ADMIN_TOKEN its token (DATA_DIR/admin-token).',
  'Exit codes: 0 done, 1 refused, 2 wrong usage.',
  '',
]

function wordsOf({ noun, verb }: Words): readonly string[] {
  return [noun, ...verb.split(' ').filter((word) => word !== '')]
}

/** The words of a call; optional parts in brackets. */
function callOf(command: Words): string {
  const flags = command.flags.map((flag) => {
    const text = flagText(flag)
    return flag.isRequired === true ? text : `[${text}]`
  })
  return [...wordsOf(command), ...command.places, ...flags].join(' ')
}

function flagText(flag: Flag): string {
  return flag.value === null ? `--${flag.name}` : `--${flag.name} ${flag.value}`
}

function toColumns(rows: readonly (readonly [string, string])[], indent: string): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`)
}
