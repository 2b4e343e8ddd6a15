/** The help texts, made from the table of commands: nothing about a command is written twice. */
import { commands, type Flag, mcpDoctor, placeMeanings, type Words } from './commands.ts'
import { sandboxStart } from './sandbox-commands.ts'

/** In the order of the help text. */
const everything: readonly Words[] = [...commands, sandboxStart, mcpDoctor]

/** The line that stands under a wrong use of the command. */
export function usageLine(command: Words): string {
  const flags = command.flags.map((flag) => {
    const text = flagText(flag)
    return flag.isRequired === true ? text : `[${text}]`
  })
  const words = ['usage: tributary', command.noun, command.verb, ...command.places, ...flags]
  return words.filter((word) => word !== '').join(' ')
}

/** `--help` of one command. */
export function commandHelp(command: Words): string {
  const places = command.places.map((place) => [place, placeMeanings[place] ?? ''] as const)
  const flags = command.flags.map((flag) => {
    const secret = flag.isSecret === true ? '; - reads it from standard input' : ''
    return [flagText(flag), `${flag.help}${secret}`] as const
  })
  const general = [['--json', 'print the answer as one JSON document'] as const]
  return [
    `${['tributary', command.noun, command.verb].join(' ').trim()}: ${command.summary}`,
    '',
    usageLine(command),
    '',
    ...toColumns([...places, ...flags, ...general]),
    '',
  ].join('\n')
}

/** `--help` of a noun. */
export function nounHelp(noun: string): string {
  const own = everything.filter((command) => command.noun === noun)
  return [`usage: tributary ${noun} <verb>`, '', ...listCommands(own), '', ...footer].join('\n')
}

/** `--help` of the whole. */
export function overview(): string {
  return [
    'usage: tributary <noun> <verb> [arguments] [--json]',
    '',
    ...listCommands(everything),
    '',
    ...footer,
  ].join('\n')
}

const footer = [
  'U is a user’s id or e-mail address. --help after a command tells its flags; --version the version.',
  'The server is found by ADMIN_URL (http://127.0.0.1:3001) and ADMIN_TOKEN (DATA_DIR/admin-token).',
  'Exit codes: 0 done, 1 refused, 2 wrong usage.',
  '',
]

function listCommands(list: readonly Words[]): string[] {
  return toColumns(
    list.map(({ noun, verb, places, summary }) => [
      [noun, verb, ...places].filter((word) => word !== '').join(' '),
      summary,
    ]),
  )
}

function flagText(flag: Flag): string {
  return flag.value === null ? `--${flag.name}` : `--${flag.name} ${flag.value}`
}

function toColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
