/**
 * The types of the command table: a command's words and flags, its call of the admin API, and how the answer
 * is shown.
 */

export interface Flag {
  /** Without the dashes. */
  readonly name: string
  /**
   * The value's placeholder in the usage line: a letter that `help` explains, or the allowed words separated
   * by bars; null: the flag has no value and means `true`.
   */
  readonly value: string | null
  readonly isRequired?: true
  /** The value `-` reads it from standard input. */
  readonly isSecret?: true
  /** Digits are sent as a number. */
  readonly isNumber?: true
  /** Its value is a list with commas between the items. */
  readonly isList?: true
  readonly help: string
}

export interface Table {
  /** The field of the answer that holds the rows. */
  readonly rows: string
  readonly columns: readonly string[]
  readonly derive?: Readonly<Record<string, Derive>>
  readonly empty: string
}

/** How an answer is shown to a person; with `--json` it is printed unchanged. */
export type Show =
  | ({ readonly kind: 'table' } & Table)
  /** One after the other, with an empty line between them. */
  | { readonly kind: 'tables'; readonly tables: readonly Table[] }
  | {
      readonly kind: 'record'
      readonly derive?: Readonly<Record<string, Derive>>
      readonly note?: string
    }
  /** `leaving`: in place of `text` where the server says that the connection waits for its provider. */
  | { readonly kind: 'done'; readonly text: string; readonly leaving?: string }
  /** The doctor's findings; an `error` among them makes the command exit with 1. */
  | { readonly kind: 'diagnosis' }

/** The text of a cell that is not a field of the answer as it came. */
export type Derive = (fields: Readonly<Record<string, unknown>>) => unknown

export interface Command extends Words {
  /** The words mean this command only where one of these flags is given: two commands may share them. */
  readonly onlyWith?: readonly string[]
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `{}` marks the place of each positional argument. */
  readonly path: string
  /** Body fields for the positional arguments that have no place in `path`; digits become numbers. */
  readonly placeFields?: readonly string[]
  /** Without any of its flags it would change nothing: that is wrong usage. */
  readonly needsFlag?: true
  /** The answer has pages: the command reads all of them. */
  readonly readsAllPages?: true
  /** How long an answer may take; absent: a minute or three, where a provider may be asked. */
  readonly waitSeconds?: number
  readonly show: Show
}

/** A command that does not call the admin API. */
export type LocalCommand = Words

/** The texts for `--help`. */
export interface Words {
  readonly noun: string
  /** One word or two; empty: the noun alone. */
  readonly verb: string
  readonly summary: string
  /** Placeholders of the positional arguments, in the order of `path`. */
  readonly places: readonly string[]
  readonly flags: readonly Flag[]
}
