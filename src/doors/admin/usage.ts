/** Counted requests of a user and what is left of their limits in the admin API: the numbers of the page `/usage`. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { usageDaysKept } from '#usage/sweep.ts'
import type { AdminDoorDeps } from './deps.ts'
import { parseQuery } from './paging.ts'
import { findUser } from './subjects.ts'

const defaultDays = 30
const message = `must be a whole number from 1 to ${usageDaysKept}`

const UsageQuery = z.strictObject({
  days: z
    .string(message)
    .regex(/^\d{1,3}$/, message)
    .transform(Number)
    .pipe(z.int(message).min(1, message).max(usageDaysKept, message))
    .default(defaultDays),
})

interface UserPath {
  Params: { user: string }
}

export function addUsageRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  admin.get<UserPath>('/users/:user/usage', async ({ params, query }) => {
    const { days } = parseQuery(UsageQuery, query)
    return deps.readUsage(await findUser(deps, params.user), days)
  })
  admin.get<UserPath>('/users/:user/limits', async ({ params }) => {
    const { id } = await findUser(deps, params.user)
    return deps.readLimits(id)
  })
}
