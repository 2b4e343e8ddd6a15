/** The body of `/simplefin/accounts`: version 1 and 2 of the protocol in one object. */
import { makeMidday } from '#kernel/midday.ts'
import {
  nameAccounts,
  type Organization,
  toHolding,
  toOrganizations,
  toSimplefinAccount,
  toSimplefinConnection,
  toTransaction,
} from './map.ts'
import { cleanText, type Problem, sayProblems } from './problems.ts'
import type { AccountReading, AccountsReading, RawProblem } from './read-accounts.ts'

export interface AnswerFacts {
  /** The root URL of the door. */
  readonly root: string
  readonly zone: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Epoch seconds; rows from the start on and before the end are shown. */
  readonly start: number | null
  readonly end: number | null
  readonly notes: readonly string[]
}

export function makeAnswer(reading: AccountsReading, facts: AnswerFacts): object {
  const { connections, readings } = reading
  const organizations = toOrganizations(connections)
  const toMidday = makeMidday(facts.zone)
  const names = nameAccounts(readings.map(({ account }) => account))
  const accounts = readings.flatMap((one) => {
    const org = organizations.get(one.connection.id)
    return org === undefined ? [] : toAccountObject(one, { org, names, facts, toMidday })
  })
  const problems = [
    ...reading.problems.flatMap((problem) => toProblem(problem, organizations)),
    ...facts.notes.map((text) => ({ kind: 'note', text }) as const),
  ]
  const { errors, errlist } = sayProblems(problems)
  return {
    errors,
    errlist,
    connections: [...organizations.values()].map((org) => toSimplefinConnection(org, facts.root)),
    accounts,
  }
}

function toAccountObject(
  { account, connection, balance, rows, holdings }: AccountReading,
  given: {
    readonly org: Organization
    readonly names: ReadonlyMap<string, string>
    readonly facts: AnswerFacts
    readonly toMidday: (day: string) => number
  },
): object[] {
  if (balance === null) return []
  const { org, names, facts, toMidday } = given
  const { start, end } = facts
  const refreshedAt = connection.lastRefreshedAt
  const balanceAt = Math.floor((refreshedAt === null ? facts.now : Date.parse(refreshedAt)) / 1000)
  const name = names.get(account.id) ?? account.name
  const isShown = (posted: number) =>
    posted >= (start ?? posted) && posted < (end ?? Number.POSITIVE_INFINITY)
  const transactions = rows
    .map((row) => toTransaction(row, toMidday(row.date)))
    .filter(({ posted }) => isShown(posted))
    // Equal ones keep the provider's order.
    .toSorted((one, other) => other.posted - one.posted)
  return [
    {
      ...toSimplefinAccount({ account, name, balance, balanceAt }, org, facts.root),
      transactions,
      ...(connection.category === 'banking'
        ? {}
        : { holdings: holdings.map(({ holding, value }) => toHolding(holding, value, balanceAt)) }),
    },
  ]
}

function toProblem(
  problem: RawProblem,
  organizations: ReadonlyMap<string, Organization>,
): readonly Problem[] {
  if (problem.kind === 'note') return [problem]
  if ('connectionId' in problem) {
    const institution = organizations.get(problem.connectionId)?.name
    return institution === undefined ? [] : [{ ...problem, institution }]
  }
  const { account } = problem
  const institution = organizations.get(account.connectionId)?.name ?? ''
  const named = { accountId: account.id, account: cleanText(account.name), institution }
  return [
    problem.kind === 'account'
      ? { kind: 'account', ...named }
      : { kind: 'incomplete', what: problem.what, ...named },
  ]
}
