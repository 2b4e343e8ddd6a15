/**
 * Asks on a terminal for the values of a key that a provider has refused. What is set in the environment is
 * not asked for: the next process would have the old value again.
 */
import { factsOf } from '#providers/all-facts.ts'
import type { LineReader } from '../read-secrets.ts'
import {
  type FoundKeys,
  findFaulty,
  findValues,
  type PersonalKeys,
  toAnswers,
  toKeys,
  type Value,
} from './personal-keys.ts'

/** Where a value was read from; `typed`: it was typed, or sent to standard input. */
export type ValueSource = 'environment' | 'file' | 'typed'

export interface Prompt {
  readonly reader: LineReader
  readonly say: (text: string) => void
  readonly findPlace: (variable: string) => ValueSource
}

const maxAttempts = 3

/** For an end while something is done already. */
export const stoppedHalfway = 'Stopped; run setup again, it completes what is missing'

/**
 * The keys with what was given anew; null when nothing was.
 * @param reason why the present ones are refused, without a full stop.
 * @throws Refusal for Ctrl-C and Ctrl-D.
 */
export async function askAgain(
  keys: PersonalKeys,
  reason: string,
  asking: Prompt,
): Promise<PersonalKeys | null> {
  const { personal } = factsOf(keys.provider)
  if (personal === undefined) return null
  const found = findValues(keys.provider, personal, Object.fromEntries(keys.held))
  if (found.values.every(({ variable }) => asking.findPlace(variable) === 'environment')) {
    return null
  }
  let why = `${keys.name} is not linked: ${reason}`
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    asking.say(`\n${why}.\nGive it again, ${keys.source}; Enter keeps what is there.\n`)
    const given = await askValues(found, asking)
    asking.reader.pause()
    if (given.size === 0) return null
    const renewed = { ...found, held: new Map([...found.held, ...given]) }
    const faulty = findFaulty(renewed, renewed.values)
    if (faulty === null) return withGiven(keys, renewed, { given, asking })
    why = faulty.sentence
  }
  return null
}

async function askValues(
  { values, held }: FoundKeys,
  { reader, say, findPlace }: Prompt,
): Promise<ReadonlyMap<string, string>> {
  const given = new Map<string, string>()
  for (const { variable, asks } of values) {
    const place = findPlace(variable)
    if (place === 'environment') {
      say(`  ${asks}: ${variable} is set in the environment; setup cannot replace it there.\n`)
      continue
    }
    const where = place === 'file' ? `, ${variable} in .env` : ''
    const text = `  ${asks}${where}: `
    const answer = await reader.ask({ text, isSecret: true, ifStopped: stoppedHalfway })
    if (answer === null) break
    const value = answer.trim()
    if (value !== '' && value !== held.get(variable)) given.set(variable, value)
  }
  return given
}

function withGiven(
  keys: PersonalKeys,
  renewed: FoundKeys,
  { given, asking }: { given: ReadonlyMap<string, string>; asking: Prompt },
): PersonalKeys {
  const isInFile = (variable: string) => asking.findPlace(variable) === 'file'
  const typed = renewed.values.filter(
    ({ variable }: Value) => given.has(variable) && !isInFile(variable),
  )
  const replaced = [...given].filter(([variable]) => isInFile(variable))
  return {
    ...keys,
    ...toKeys(renewed),
    answers: new Map([...keys.answers, ...toAnswers(renewed, typed)]),
    replacements: new Map([...keys.replacements, ...replaced]),
  }
}
