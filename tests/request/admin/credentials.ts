/** What adopts the made-up people of each emulator, as the admin API takes it, and answers in their types. */
import { z } from 'zod'
import { Connection } from '#contract/resources.ts'
import { demoUserTokens } from '#sandbox/akahu/emulator.ts'
import { demoPeople } from '#sandbox/snaptrade/index.ts'
import { toToken } from '#sandbox/up/index.ts'
import type { Answer, Emulators, World } from './world.ts'

export const fiskil = { provider: 'fiskil', endUserId: 'eu_sandbox_healthy' }
export const akahu = { provider: 'akahu', userToken: demoUserTokens.healthy }
export const snaptrade = {
  provider: 'snaptrade',
  snaptradeUserId: demoPeople.healthy.userId,
  userSecret: demoPeople.healthy.userSecret,
}

export const up = { provider: 'up', token: toToken('healthy') }

const Linked = z.strictObject({ connections: z.array(Connection) })
const Listed = z.strictObject({ data: z.array(Connection) })

/** The connections of a link answer; each must be one of the contract. */
export function linked(answer: Answer): Connection[] {
  return Linked.parse(answer.body).connections
}

/** The connections of a list answer. */
export function listed(answer: Answer): Connection[] {
  return Listed.parse(answer.body).data
}

export function errorOf({ body }: Answer) {
  return (body as { error: { message: string; code?: string; details?: string[] } }).error
}

/** Links the credentials to the user and gives the connections. */
export async function link(world: World, userId: string, credentials: object) {
  const answer = await world.ask('POST', `/admin/users/${userId}/connections`, credentials)
  if (answer.status !== 201) throw new Error(`not linked: ${JSON.stringify(answer.body)}`)
  return linked(answer)
}

/** An emulator that the test has asked for. */
export function need<Name extends keyof Emulators>(
  world: World,
  name: Name,
): NonNullable<Emulators[Name]> {
  const emulator = world[name]
  if (emulator === null) throw new Error(`the test did not ask for ${name}`)
  return emulator
}

/** The one entry that fits; none or several fail the test. */
export function only<Entry>(entries: readonly Entry[], fits: (entry: Entry) => boolean): Entry {
  const [found, ...more] = entries.filter(fits)
  if (found === undefined || more.length > 0) throw new Error('expected exactly one entry')
  return found
}
