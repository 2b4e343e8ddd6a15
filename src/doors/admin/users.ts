/**
 * Users and their plans in the admin API. Deleting one revokes, forgets and purges everything of theirs, which is the
 * work of the links room.
 */
import type { FastifyInstance } from 'fastify'
import { effectivePlan } from '#auth/plans.ts'
import { apiError } from '#contract/errors.ts'
import { toIso } from '#kernel/time.ts'
import type { PlanRow, UserRow } from '#store/port.ts'
import { NewUserBody, PasswordBody, PlanBody, parseBody } from './bodies.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser, recordAction } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}

/** Adds `/admin/users` and what lies below it, but keys and connections. */
export function addUserRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, links, clock, planSettings } = deps
  const planOf = (user: UserRow) => effectivePlan(user, planSettings)

  const toUser = (user: UserRow) => ({
    id: user.id,
    email: user.email,
    timezone: user.timezone,
    ...planOf(user),
    legacyUntil: user.legacyUntil === null ? null : toIso(user.legacyUntil),
    grandfathered: user.grandfathered,
    createdAt: toIso(user.createdAt),
  })

  admin.get('/users', async () => ({ data: (await store.users.list()).map(toUser) }))

  admin.post('/users', async (request, reply) => {
    const body = parseBody(NewUserBody, request.body)
    const passwordHash = body.password === undefined ? null : await deps.hashPassword(body.password)
    const user = await store.users.create({
      email: body.email,
      passwordHash,
      timezone: body.timezone,
      plan: body.plan ?? null,
      status: body.status ?? 'active',
      legacyUntil: null,
      grandfathered: false,
      createdAt: clock.now(),
    })
    if (user === 'taken') throw apiError('email_taken')
    await recordAction(deps, 'users.create', { userId: user.id, subject: user.id })
    const { id, email, timezone } = user
    return reply.code(201).send({ id, email, timezone, plan: planOf(user).plan })
  })

  admin.get<UserPath>('/users/:user', async ({ params }) =>
    toUser(await findUser(deps, params.user)),
  )

  admin.delete<UserPath>('/users/:user', async ({ params }, reply) => {
    const { id } = await findUser(deps, params.user)
    if (!(await links.deleteUser(id))) throw apiError('user_not_found')
    await recordAction(deps, 'users.delete', { userId: id, subject: id })
    return reply.code(204).send()
  })

  admin.put<UserPath>('/users/:user/password', async (request, reply) => {
    const { id } = await findUser(deps, request.params.user)
    const { password } = parseBody(PasswordBody, request.body)
    if (!(await deps.setPassword(id, password))) throw apiError('user_not_found')
    await recordAction(deps, 'users.set-password', { userId: id, subject: id })
    return reply.code(204).send()
  })

  admin.put<UserPath>('/users/:user/plan', async (request) => {
    const { id } = await findUser(deps, request.params.user)
    const user = await store.users.setPlan(id, parseBody(PlanBody, request.body))
    if (user === null) throw apiError('user_not_found')
    await recordAction(deps, 'plans.set', { userId: id, subject: `${user.plan} ${user.status}` })
    return toPlan(user)
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
