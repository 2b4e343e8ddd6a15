/**
 * What could not be read, in the words that clients of both versions of the protocol act on. `errors` are
 * texts for people; one of them makes two clients ask for a new link, so it is said where the consent is gone
 * and nowhere else. Names of institutions come from outside and are cleaned.
 */

export type Problem =
  /** The consent is gone, or a second factor is needed. */
  | { readonly kind: 'reconnect'; readonly connectionId: string; readonly institution: string }
  /** The institution or the provider cannot be read now. */
  | { readonly kind: 'unavailable'; readonly connectionId: string; readonly institution: string }
  /** Rows are missing (`incomplete`), or the account: for now (`account`), or as it is (`absent`). */
  | {
      readonly kind: 'account' | 'incomplete' | 'absent'
      readonly accountId: string
      readonly account: string
      readonly institution: string
      readonly what: string
    }
  /** What was asked for is no account that the program may see. */
  | { readonly kind: 'unknown'; readonly accountId: string }
  /** Every connection that was chosen for the program has been removed. */
  | { readonly kind: 'removed' }
  /** For the developer of the client. */
  | { readonly kind: 'note'; readonly text: string }

export interface ListedProblem {
  readonly code: string
  readonly msg: string
  readonly conn_id?: string
  readonly account_id?: string
}

export interface FormattedProblems {
  readonly errors: readonly string[]
  readonly errlist: readonly ListedProblem[]
}

export function formatProblems(problems: readonly Problem[]): FormattedProblems {
  const said = problems.map(sayProblem)
  const errors = new Set(said.flatMap((one) => one.errors))
  return { errors: [...errors], errlist: said.map(({ listed }) => listed) }
}

function sayProblem(problem: Problem): {
  readonly errors: readonly string[]
  readonly listed: ListedProblem
} {
  switch (problem.kind) {
    case 'reconnect': {
      const msg = `${problem.institution}: authentication needed, reconnect it in Tributary`
      return {
        errors: [`Connection to ${problem.institution} may need attention`, msg],
        listed: { code: 'con.auth', msg, conn_id: problem.connectionId },
      }
    }
    case 'unavailable': {
      const msg = `${problem.institution}: temporarily unavailable`
      return { errors: [msg], listed: { code: 'con.', msg, conn_id: problem.connectionId } }
    }
    case 'account':
    case 'incomplete':
    case 'absent': {
      const state = problem.kind === 'incomplete' ? 'incomplete' : 'left out'
      const code = problem.kind === 'account' ? 'act.failed' : 'act.missingdata'
      const msg = `${problem.institution}: ${problem.account} is ${state}: ${problem.what}`
      return { errors: [msg], listed: { code, msg, account_id: problem.accountId } }
    }
    case 'unknown': {
      const msg = 'An account is not there any more, or not for this program: choose it again'
      return { errors: [msg], listed: { code: 'act.failed', msg, account_id: problem.accountId } }
    }
    case 'removed': {
      const msg =
        'None of the connections of this program is there any more: create a new setup token'
      return { errors: [msg], listed: { code: 'gen.', msg } }
    }
    default:
      return { errors: [], listed: { code: 'gen.api', msg: problem.text } }
  }
}

/** Plain text: no control characters and no tags. */
export const cleanText = (text: string) =>
  text
    .replace(/[<>]/g, '')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
