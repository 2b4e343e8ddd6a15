/**
 * Collects the keys with which one person reaches their own accounts: from flags, the environment and `.env`,
 * and from questions on a terminal. It calls nobody and writes nothing. Which keys there are stands in the
 * facts of the providers.
 */
import type { Provider } from '#contract/resources.ts'
import { readPrivateKey } from '#kernel/rsa-key.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { describeWrongKey } from '#providers/misplaced-key.ts'
import type { PersonalAccess } from '#providers/provider-facts.ts'
import type { Environment } from '#settings/environment-file.ts'
import type { LineReader } from '../read-secrets.ts'

/** What links the person at one provider. */
export interface PersonalKeys {
  readonly provider: Provider
  /** For people. */
  readonly name: string
  readonly source: string
  /** Every value, by the variable that stands for it. */
  readonly held: ReadonlyMap<string, string>
  /** What was typed of it for the service, with the variables that must be set beside it. */
  readonly answers: ReadonlyMap<string, string>
  /** New values for lines of `.env` whose values were refused. */
  readonly replacements: ReadonlyMap<string, string>
  /** Fields of the body that links. */
  readonly tokens: Readonly<Record<string, string>>
  /** The credentials of this installation, by their link fields. */
  readonly own: Readonly<Record<string, string>>
}

export interface Collected {
  readonly keys: readonly PersonalKeys[]
  /** What was given and cannot be used, one sentence each. */
  readonly problems: readonly string[]
  /** What was left out without being wrong, by provider. */
  readonly notes: readonly { readonly provider: Provider; readonly text: string }[]
}

/** One value: the variable that holds it, the link field that it belongs to, and the question. */
export interface Value {
  readonly variable: string
  readonly field: string
  readonly asks: string
  readonly isToken: boolean
}

/** What was found for one provider. */
export interface FoundKeys {
  readonly provider: Provider
  readonly personal: PersonalAccess
  readonly values: readonly Value[]
  readonly held: Map<string, string>
}

/**
 * @param environment flags included, under the names of their variables.
 * @param reader asks for what is missing; null: nobody is there to answer.
 */
export async function collectKeys(
  environment: Environment,
  reader: LineReader | null,
  say: (text: string) => void,
): Promise<Collected> {
  const keys: PersonalKeys[] = []
  const problems: string[] = []
  const notes: { provider: Provider; text: string }[] = []
  for (const provider of providerNames) {
    const { personal } = factsOf(provider)
    if (personal === undefined) continue
    const found = findValues(provider, personal, environment)
    const other = findOtherUse(found, environment)
    if (other !== null) {
      notes.push({ provider, text: other })
      continue
    }
    const isAsked = reader !== null && !isOtherwise(personal, environment)
    const asked = !isAsked ? [] : await askMissing(found, reader, say)
    const problem = findProblem(found, asked, isFixed(personal, environment))
    if (problem !== null) problems.push(problem)
    const missing = listMissing(found)
    if (missing.length === 0 && problem === null && found.held.size > 0)
      keys.push({ ...toKeys(found), answers: toAnswers(found, asked), replacements: new Map() })
    else if (problem === null && found.held.size > 0)
      notes.push({ provider, text: describeGap(found) })
  }
  return { keys, problems, notes }
}

const read = (environment: Environment, name: string) => environment[name]?.trim() || null

/** @param environment the values by variable; those of others are left out. */
export function findValues(
  provider: Provider,
  personal: PersonalAccess,
  environment: Environment,
): FoundKeys {
  const { required } = factsOf(provider).settings
  const values: readonly Value[] = [
    ...Object.entries(required).map(([field, variable]) => ({
      ...{ field, variable, isToken: false },
      asks: personal.asks[variable] ?? variable,
    })),
    ...Object.entries(personal.tokens).map(([field, { variable, asks }]) => ({
      ...{ field, variable, asks, isToken: true },
    })),
  ]
  const held = new Map<string, string>()
  for (const { variable } of values) {
    const value = read(environment, variable)
    if (value !== null) held.set(variable, value)
  }
  return { provider, personal, values, held }
}

/** True when the variables with one right value have it; there may be none. */
function isFixed({ fixed }: PersonalAccess, environment: Environment): boolean {
  return Object.entries(fixed).every(([name, value]) => read(environment, name) === value)
}

/** True when a person has set one of them to something else. */
function isOtherwise({ fixed }: PersonalAccess, environment: Environment): boolean {
  return Object.entries(fixed).some(
    ([name, value]) => ![null, value].includes(read(environment, name)),
  )
}

/** The same variables may hold the key of a company, whose users are not linked here. */
function findOtherUse({ personal, held }: FoundKeys, environment: Environment): string | null {
  const [fixed] = Object.entries(personal.fixed)
  if (fixed === undefined || held.size === 0 || isFixed(personal, environment)) return null
  const [name, value] = fixed
  return `${personal.name} is not linked: ${[...held.keys()].join(' and ')} set, but not ${name}=${value}; set it if the key is your own, and run setup again. Users of a company’s key are linked with \`tributary connections link\``
}

const listMissing = ({ values, held }: FoundKeys) =>
  values.filter(({ variable }) => !held.has(variable))

/** An empty answer leaves the provider as it is. Returns the values that were given. */
async function askMissing(
  found: FoundKeys,
  reader: LineReader,
  say: (text: string) => void,
): Promise<readonly Value[]> {
  const given: Value[] = []
  const { name, source } = found.personal
  const missing = listMissing(found)
  if (missing.length > 0) say(`\n${name}, ${source}. Enter leaves it out.\n`)
  for (const value of missing) {
    const answer = await askOne(found.provider, value, { reader, say })
    if (!answer) break
    found.held.set(value.variable, answer)
    given.push(value)
  }
  return given
}

/** How often a value that cannot be right is asked for once more. */
const maxRepeats = 2

async function askOne(
  provider: Provider,
  value: Value,
  { reader, say }: { readonly reader: LineReader; readonly say: (text: string) => void },
): Promise<string | undefined> {
  for (let repeats = 0; ; repeats += 1) {
    const answer = (await reader.ask({ text: `  ${value.asks}: `, isSecret: true }))?.trim()
    const fault = answer ? findFault(provider, value, answer) : null
    if (fault === null || repeats === maxRepeats) return answer
    say(`  This ${fault}.\n`)
  }
}

/** Ids and tokens of the providers; anything else could not be sent, or not be written to `.env`. */
const visible = /^[\x21-\x7e]{1,1024}$/
/** A file's text: its lines are read by whoever takes it. */
const visibleLines = /^[\x20-\x7e\r\n]{1,8192}$/

const isFile = (provider: Provider, { field }: Value): boolean =>
  factsOf(provider).linkFields[field]?.isLong === true

/** Completes a sentence about a value that cannot be right; null: it may be. */
function findFault(provider: Provider, value: Value, text: string): string | null {
  const wrong = describeWrongKey(provider, value.field, text)
  if (wrong !== null) return `is ${wrong}`
  const isLong = isFile(provider, value)
  if (!(isLong ? visibleLines : visible).test(text))
    return 'has blanks or other characters that no key has'
  const key = isLong ? readPrivateKey(text) : null
  return key?.kind === 'problem' ? key.detail : null
}

/**
 * The first value that cannot be right, as a sentence without a full stop, and what to do; null: there is
 * none.
 * @param asked is named as the question did, the others by their variables.
 */
export function findFaulty(
  { provider, personal, values, held }: FoundKeys,
  asked: readonly Value[],
): { readonly sentence: string; readonly advice: string } | null {
  for (const value of values) {
    const text = held.get(value.variable)
    const fault = text === undefined ? null : findFault(provider, value, text)
    if (fault === null) continue
    const name = asked.includes(value) ? `the ${toName(value)}` : value.variable
    // What is wrong with a file says already how to copy it.
    const copy = isFile(provider, value) ? 'then' : `copy it again, ${personal.source}, and`
    const advice = `${copy} run setup again`
    return { sentence: `${personal.name} is not linked: ${name} ${fault}`, advice }
  }
  return null
}

/** The question without its example. */
const toName = ({ asks }: Value) => asks.replace(/(?:,| \().*$/, '')

/** What was found and cannot be used, as one sentence; null: nothing. */
function findProblem(found: FoundKeys, asked: readonly Value[], isFixed: boolean): string | null {
  const { personal, values, held } = found
  const faulty = findFaulty(found, asked)
  if (faulty !== null) return `${faulty.sentence}; ${faulty.advice}`
  const missing = listMissing(found)
  const hasToken = values.some(({ variable, isToken }) => isToken && held.has(variable))
  const isKeyAlone = values.every(({ isToken }) => !isToken)
  const isWanted = hasToken || (isKeyAlone && (held.size > 0 || hasFixed(personal, isFixed)))
  if (missing.length === 0 || !isWanted) return null
  const names = missing.map(({ variable }) => variable).join(' and ')
  return `${personal.name} is not linked: ${names} not set; it is shown ${personal.source}. Set it and run setup again`
}

const hasFixed = ({ fixed }: PersonalAccess, isFixed: boolean) =>
  isFixed && Object.keys(fixed).length > 0

function describeGap(found: FoundKeys): string {
  const missing = listMissing(found).map(({ variable }) => variable)
  return `${found.personal.name} is not linked: ${missing.join(' and ')} not given (${found.personal.source})`
}

/** What the service needs of the values that were asked for. */
export function toAnswers(
  { personal, held }: FoundKeys,
  asked: readonly Value[],
): ReadonlyMap<string, string> {
  const own = asked.filter(({ isToken }) => !isToken)
  if (own.length === 0) return new Map()
  const typed = own.map(({ variable }) => [variable, held.get(variable) ?? ''] as const)
  return new Map([...typed, ...Object.entries(personal.fixed)])
}

export function toKeys(found: FoundKeys): Omit<PersonalKeys, 'answers' | 'replacements'> {
  const { provider, personal, values, held } = found
  const pick = (isToken: boolean) =>
    Object.fromEntries(
      values
        .filter((value) => value.isToken === isToken)
        .map(({ field, variable }) => [field, held.get(variable) ?? '']),
    )
  const { name, source } = personal
  return { provider, name, source, held, tokens: pick(true), own: pick(false) }
}
