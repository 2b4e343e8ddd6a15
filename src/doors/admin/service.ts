/** `GET /admin/service`: what kind of service this is, and its public addresses, for commands that refer people to them. */
import type { FastifyInstance } from 'fastify'
import type { AdminDoorDeps } from './deps.ts'

export function addServiceRoute(
  admin: FastifyInstance,
  { describeService }: Pick<AdminDoorDeps, 'describeService'>,
): void {
  admin.get('/service', async () => describeService())
}
