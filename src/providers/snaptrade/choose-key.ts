/**
 * The forms in which a person can be linked, and which of them this installation allows: a user of the
 * commercial key, a personal key, or neither (the personal key of the variables). No request is made here.
 */
import type { Credentials } from '../credentials.ts'
import type { UpstreamError } from '../failure.ts'
import { fail } from './failures.ts'
import type { Asker, OwnKey } from './keys.ts'

type Fields = Extract<Credentials, { readonly provider: 'snaptrade' }>
type Pair = readonly [string | undefined, string | undefined]

const userFlags = '--snaptrade-user-id and --user-secret'
const keyFlags = '--client-id and --consumer-key'
const ownVariables = 'SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY'

type PersonAsker = Extract<Asker, { readonly kind: 'user' | 'personal' }>

/** Throws `rejected` with one sentence for any other combination. */
export function chooseAsker(own: OwnKey | null, fields: Fields): PersonAsker {
  const user = readPair([fields.snaptradeUserId, fields.userSecret], userFlags)
  const key = readPair([fields.clientId, fields.consumerKey], keyFlags)
  if (user !== null && key !== null) {
    throw refuse(`give either ${userFlags} or ${keyFlags}, not both`)
  }
  if (user !== null) return chooseUser(own, user)
  if (key !== null) return choosePersonal(own, key)
  if (own?.kind === 'personal') return { kind: 'personal', key: own, isOfVariables: true }
  throw refuse(
    own === null
      ? `give the personal key with ${keyFlags}, or set ${ownVariables}`
      : `give ${userFlags} of a user of this commercial key, or a personal key with ${keyFlags}`,
  )
}

/** Null when neither is given. */
function readPair(pair: Pair, flags: string): readonly [string, string] | null {
  const [first = '', second = ''] = pair
  if (first === '' && second === '') return null
  if (first === '' || second === '') throw refuse(`${flags} are only valid together`)
  if (/\s/.test(first + second)) throw refuse(`${flags} have no blanks or line ends`)
  return [first, second]
}

function chooseUser(
  own: OwnKey | null,
  [userId, userSecret]: readonly [string, string],
): PersonAsker {
  if (own?.kind === 'commercial') return { kind: 'user', key: own, userId, userSecret }
  throw refuse(
    own === null
      ? `a user id and a user secret belong to a commercial key, which is not set: set ${ownVariables}, or give a personal key with ${keyFlags}`
      : `SNAPTRADE_KEY is personal, and a personal key has no user id and no secret: leave out ${userFlags}`,
  )
}

function choosePersonal(
  own: OwnKey | null,
  [clientId, consumerKey]: readonly [string, string],
): PersonAsker {
  if (own?.kind === 'commercial' && own.clientId === clientId) {
    throw refuse(
      `this is the commercial key of SNAPTRADE_CLIENT_ID, which is no person’s own: give ${userFlags} of one of its users`,
    )
  }
  return { kind: 'personal', key: { clientId, consumerKey }, isOfVariables: false }
}

function refuse(detail: string): UpstreamError {
  return fail({ kind: 'rejected', status: 400, isPersonal: true, detail })
}
