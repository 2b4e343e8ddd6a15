/**
 * Users and their plans in the admin API. Deleting a user revokes their access and consents and deletes all
 * their data; the connections room does that.
 */
import { effectivePlan } from '#auth/plans.ts'
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import type { UserRow, UserStandingRow } from '#store/ports/users.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { toPage } from './paging.ts'
import { findUser } from './subjects.ts'
import type { userCalls } from './table/users.ts'

export function makeUserHandlers(options: AdminDoorOptions): AdminHandlers<keyof typeof userCalls> {
  const { store, actions, connections, planSettings } = options
  const planOf = (user: UserRow) => effectivePlan(user, planSettings)

  const toUser = (user: UserRow) => ({
    id: user.id,
    email: user.email,
    name: user.name,
    timezone: user.timezone,
    ...planOf(user),
    legacyUntil: toIsoOrNull(user.legacyUntil),
    grandfathered: user.grandfathered,
    createdAt: toIso(user.createdAt),
    emailConfirmedAt: toIsoOrNull(user.emailConfirmedAt),
  })

  return {
    async createUser({ body }) {
      const user = await actions.createUser(byOperator, body)
      const { id, email, timezone } = user
      return { id, email, timezone, plan: planOf(user).plan }
    },
    async listUsers({ query: { limit, cursor } }) {
      const id = parseUuid<UserId>(cursor?.id ?? '')
      const after = cursor === undefined || id === null ? null : { createdAt: cursor.order, id }
      const rows = await store.users.listPage({ after, limit: limit + 1 })
      const place = ({ createdAt, id }: UserRow) => ({ order: createdAt, id })
      const standings = await store.users.listStandings(rows.slice(0, limit).map(({ id }) => id))
      const standingOf = new Map(standings.map((one) => [one.id, one]))
      const row = (user: UserRow) => ({ ...toUser(user), ...toStanding(standingOf.get(user.id)) })
      return toPage(rows, limit, { row, place })
    },
    async showUser({ user }) {
      const row = await findUser(options, user)
      const [standing] = await store.users.listStandings([row.id])
      return { ...toUser(row), ...toStanding(standing), ...(await readSignIn(store, row)) }
    },
    async setPassword({ user, body }) {
      const { id } = await findUser(options, user)
      await actions.setPassword(byOperator, id, body)
      return undefined
    },
    async setProfile({ user, body }) {
      const { id } = await findUser(options, user)
      return toUser(await actions.setProfile(byOperator, id, body))
    },
    async resetSecondFactor({ user }) {
      const { id } = await findUser(options, user)
      await actions.resetSecondFactor(byOperator, id)
      return undefined
    },
    async deleteUser({ user }) {
      // A repeated request repeats the deletion, whichever request began it.
      const { id } = await findUser(options, user, { deleting: true })
      if (!(await connections.deleteUser(byOperator, id))) throw apiError('user_not_found')
      return undefined
    },
    async setPlan({ user, body }) {
      const { id } = await findUser(options, user)
      const row = await actions.setPlan(byOperator, id, body)
      const { legacyUntil, grandfathered } = row
      return { ...planOf(row), legacyUntil: toIsoOrNull(legacyUntil), grandfathered }
    },
  }
}

/** Undefined: the user was deleted meanwhile. */
function toStanding(standing: UserStandingRow | undefined) {
  const { lastSeenAt = null, activeConnections = 0, brokenConnections = 0 } = standing ?? {}
  const { hasSecondFactor = false } = standing ?? {}
  return {
    lastSeenAt: toIsoOrNull(lastSeenAt),
    hasSecondFactor,
    connections: { active: activeConnections, broken: brokenConnections },
  }
}

/** How the user signs in: for one user alone, because each fact is a look-up. */
async function readSignIn(store: AdminDoorOptions['store'], { id }: UserRow) {
  const passkeys = (await store.passkeys.list(id)).length
  const hasApp = await store.secondFactors.hasApp(id)
  const hasSecondFactor = hasApp || passkeys > 0
  return {
    hasPassword: (await store.sessions.findPassword(id)) !== null,
    hasSecondFactor,
    secondFactors: [
      ...(hasApp ? (['app'] as const) : []),
      ...(passkeys > 0 ? (['passkey'] as const) : []),
    ],
    passkeys,
    recoveryCodesLeft: hasSecondFactor ? await store.secondFactors.countCodes(id) : 0,
  }
}
