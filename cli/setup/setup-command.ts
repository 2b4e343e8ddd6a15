/** The words and flags of `tributary setup`, and how its arguments are read. */
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Flag, LocalCommand } from '../command.ts'

export interface SetupStart {
  /** Null: asked for on a terminal. */
  readonly email: string | null
  /** Null: that of the machine. */
  readonly timezone: string | null
  /** The variables whose values are read from standard input, in the order of the command line. */
  readonly fromInput: readonly string[]
  readonly json: boolean
}

const tokens = providerNames.flatMap((provider) => {
  const { personal } = factsOf(provider)
  return Object.values(personal?.tokens ?? {}).map((token) => ({ ...token, personal }))
})

/** The flags for secrets, with the variables that they stand for. */
export const tokenFlags: ReadonlyMap<string, string> = new Map(
  tokens.map(({ flag, variable }) => [flag, variable]),
)

export const setupCommand: LocalCommand = {
  noun: 'setup',
  verb: '',
  summary: 'make the owner and a key, and link their own accounts; may be repeated',
  places: [],
  flags: [
    { name: 'email', value: 'E', help: 'e-mail address of the owner; asked for when absent' },
    { name: 'timezone', value: 'Z', help: 'IANA time zone; that of this machine when absent' },
    ...tokens.map(
      ({ flag, variable, asks, personal }): Flag => ({
        name: flag,
        value: '-',
        isSecret: true,
        help: `${personal?.name}: ${asks}; else ${variable}`,
      }),
    ),
  ],
}
