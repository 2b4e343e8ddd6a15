/**
 * The `tributary` command in the test's process, with a stand-in for the terminal that keeps what is printed.
 */
import { run, type Terminal } from '../../cli/run.ts'

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CommandOptions
  extends Partial<Pick<Terminal, 'environment' | 'workingDirectory' | 'untilStopped' | 'loss'>> {
  /** What a pipe sends. */
  readonly input?: string
  /** What a person types; absent: there is no terminal. */
  readonly typed?: string | undefined
}

const never = () => new Promise<void>(() => {})

export async function runCommand(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Ended> {
  const { environment = {}, workingDirectory = '.', untilStopped = never, input = '' } = options
  const { typed, loss = () => null } = options
  const output = { out: '', err: '' }
  const code = await run(args, {
    environment,
    workingDirectory,
    input: typed === undefined ? send(input) : Object.assign(send(typed), rawTerminal),
    isErrTerminal: typed !== undefined,
    out: (text) => {
      output.out += text
    },
    write: async (text) => {
      output.out += text
    },
    err: (text) => {
      output.err += text
    },
    untilStopped,
    untilUnread: never,
    loss,
  })
  return { code, ...output }
}

const rawTerminal = { isTTY: true, setRawMode: () => {} }

async function* send(text: string) {
  if (text !== '') yield text
}
