/** The body of `/simplefin/accounts`: version 1 and 2 of the protocol in one object. */
import {
  nameAccounts,
  type Organization,
  toHolding,
  toOrganizations,
  toSimplefinAccount,
  toSimplefinConnection,
} from './map.ts'
import { cleanText, formatProblems, type Problem } from './problems.ts'
import type { AccountReading, AccountsReading, RawProblem } from './read-accounts.ts'

export interface AnswerFacts {
  /** The root URL of the door. */
  readonly root: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Epoch seconds; rows from the start on and before the end are shown. */
  readonly start: number | null
  readonly end: number | null
  readonly notes: readonly string[]
}

/** @returns JSON in parts. The rows are the largest of them, and are not copied. */
export function makeAnswer(reading: AccountsReading, facts: AnswerFacts): readonly Uint8Array[] {
  const { connections, readings } = reading
  const organizations = toOrganizations(connections)
  // All accounts count: a name must not depend on which ones are asked for, or can be read.
  const names = nameAccounts(reading.accounts)
  const accounts = readings.flatMap((one) => {
    const org = organizations.get(one.connection.id)
    return org === undefined ? [] : [toAccount(one, { org, names, facts })]
  })
  const problems = [
    ...reading.problems.flatMap((problem) => toProblem(problem, { organizations, names })),
    ...facts.notes.map((text) => ({ kind: 'note', text }) as const),
  ]
  const { errors, errlist } = formatProblems(problems)
  const head = {
    errors,
    errlist,
    connections: [...organizations.values()].map((org) => toSimplefinConnection(org, facts.root)),
  }
  const listed = accounts.flatMap((account, index) =>
    index === 0 ? account : [toBytes(','), ...account],
  )
  return [toBytes(`${toOpen(head)},"accounts":[`), ...listed, toBytes(']}')]
}

const toBytes = (text: string): Uint8Array => Buffer.from(text)

/** Without its closing brace. */
const toOpen = (object: object) => JSON.stringify(object).slice(0, -1)

function toAccount(
  { account, connection, balance, rows, holdings }: AccountReading,
  given: {
    readonly org: Organization
    readonly names: ReadonlyMap<string, string>
    readonly facts: AnswerFacts
  },
): readonly Uint8Array[] {
  const { org, names, facts } = given
  const { start, end } = facts
  const refreshedAt = connection.lastRefreshedAt
  const balanceAt = Math.floor((refreshedAt === null ? facts.now : Date.parse(refreshedAt)) / 1000)
  const name = names.get(account.id) ?? account.name
  const head = toSimplefinAccount({ account, name, balance, balanceAt }, org, facts.root)
  const isShown = (posted: number) =>
    posted >= (start ?? posted) && posted < (end ?? Number.POSITIVE_INFINITY)
  const shown = rows
    .filter(({ posted }) => isShown(posted))
    // Equal ones keep the provider's order.
    .toSorted((one, other) => other.posted - one.posted)
    .map(({ text }, index) => (index === 0 ? text.subarray(1) : text))
  const listed = holdings.map(({ holding, value }) => toHolding(holding, value, balanceAt))
  return [
    toBytes(`${toOpen(head)},"transactions":[`),
    ...joinNeighbours(shown),
    // A bank's account has none, and clients go through the list without asking whether it is there.
    toBytes(`],"holdings":${JSON.stringify(listed)}}`),
  ]
}

/** Days that follow each other in one array are one part. */
function joinNeighbours(texts: readonly Uint8Array[]): readonly Uint8Array[] {
  const joined: Uint8Array[] = []
  for (const text of texts) {
    const last = joined.at(-1)
    const isNext =
      last?.buffer === text.buffer && last.byteOffset + last.byteLength === text.byteOffset
    if (!isNext) joined.push(text)
    else
      joined.splice(
        -1,
        1,
        new Uint8Array(text.buffer, last.byteOffset, last.byteLength + text.byteLength),
      )
  }
  return joined
}

function toProblem(
  problem: RawProblem,
  {
    organizations,
    names,
  }: {
    readonly organizations: ReadonlyMap<string, Organization>
    readonly names: ReadonlyMap<string, string>
  },
): readonly Problem[] {
  if (!('connectionId' in problem || 'account' in problem)) return [problem]
  if ('connectionId' in problem) {
    const institution = organizations.get(problem.connectionId)?.name
    return institution === undefined ? [] : [{ ...problem, institution }]
  }
  const { account } = problem
  const institution = organizations.get(account.connectionId)?.name ?? ''
  const name = names.get(account.id) ?? cleanText(account.name)
  return [{ ...problem, accountId: account.id, account: name, institution }]
}
