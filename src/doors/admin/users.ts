/**
 * Users and their plans in the admin API. Deleting a user revokes their access and consents and deletes all their data;
 * the connections room does that.
 */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { effectivePlan } from '#auth/plans.ts'
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import type { PlanRow, UserRow } from '#store/ports/users.ts'
import type { AdminDoorDeps } from './deps.ts'
import { maxPageRows, pageCursor, pageRows, parseQuery, toPage } from './paging.ts'
import { findUser } from './subjects.ts'

const UsersQuery = z.strictObject({ limit: pageRows(maxPageRows), cursor: pageCursor })

interface UserPath {
  Params: { user: string }
}

export function addUserRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, actions, connections, planSettings } = deps
  const planOf = (user: UserRow) => effectivePlan(user, planSettings)

  const toUser = (user: UserRow) => ({
    id: user.id,
    email: user.email,
    name: user.name,
    timezone: user.timezone,
    ...planOf(user),
    legacyUntil: user.legacyUntil === null ? null : toIso(user.legacyUntil),
    grandfathered: user.grandfathered,
    createdAt: toIso(user.createdAt),
    emailConfirmedAt: user.emailConfirmedAt === null ? null : toIso(user.emailConfirmedAt),
  })

  admin.get('/users', async (request) => {
    const { limit, cursor } = parseQuery(UsersQuery, request.query)
    const after = cursor === undefined ? null : { createdAt: cursor.order, id: cursor.id as UserId }
    const rows = await store.users.listPage({ after, limit: limit + 1 })
    const place = ({ createdAt, id }: UserRow) => ({ order: createdAt, id })
    return toPage(rows, limit, { row: toUser, place })
  })

  admin.post('/users', async (request, reply) => {
    const user = await actions.createUser(byOperator, request.body)
    const { id, email, timezone } = user
    return reply.code(201).send({ id, email, timezone, plan: planOf(user).plan })
  })

  admin.post('/invitations', async (request, reply) => {
    const { email, url, expiresAt } = await actions.invite(byOperator, request.body)
    return reply.code(201).send({ email, url, expiresAt: toIso(expiresAt) })
  })

  admin.get<UserPath>('/users/:user', async ({ params }) => {
    const user = await findUser(deps, params.user)
    return { ...toUser(user), ...(await readSignIn(store, user)) }
  })

  admin.delete<UserPath>('/users/:user', async ({ params }, reply) => {
    // A repeated request repeats the deletion: it is idempotent and does not depend on which request began it.
    const { id } = await findUser(deps, params.user, { deleting: true })
    if (!(await connections.deleteUser(byOperator, id))) throw apiError('user_not_found')
    return reply.code(204).send()
  })

  admin.put<UserPath>('/users/:user/password', async (request, reply) => {
    const { id } = await findUser(deps, request.params.user)
    await actions.setPassword(byOperator, id, request.body)
    return reply.code(204).send()
  })

  admin.put<UserPath>('/users/:user/profile', async (request) => {
    const { id } = await findUser(deps, request.params.user)
    return toUser(await actions.setProfile(byOperator, id, request.body))
  })

  admin.delete<UserPath>('/users/:user/second-factor', async ({ params }, reply) => {
    const { id } = await findUser(deps, params.user)
    await actions.resetSecondFactor(byOperator, id)
    return reply.code(204).send()
  })

  admin.put<UserPath>('/users/:user/plan', async (request) => {
    const { id } = await findUser(deps, request.params.user)
    return toPlan(await actions.setPlan(byOperator, id, request.body))
  })
}

function toPlan({ plan, status, legacyUntil, grandfathered }: PlanRow) {
  return {
    plan,
    status,
    legacyUntil: legacyUntil === null ? null : toIso(legacyUntil),
    grandfathered,
  }
}

/** How the user signs in: for one user alone, because each fact is a look-up. */
async function readSignIn(store: AdminDoorDeps['store'], { id }: UserRow) {
  const hasSecondFactor = await store.secondFactors.has(id)
  return {
    hasPassword: (await store.sessions.findPassword(id)) !== null,
    hasSecondFactor,
    recoveryCodesLeft: hasSecondFactor ? await store.secondFactors.countCodes(id) : 0,
  }
}
