/** `GET /admin/doctor`: what is configured, reachable, expired or wrong, and what to do about it. */
import type { FastifyInstance } from 'fastify'
import type { AdminDoorDeps } from './deps.ts'

/** Answers 200 whatever is found: the examination itself succeeded. */
export function addDoctorRoute(
  admin: FastifyInstance,
  { examine }: Pick<AdminDoorDeps, 'examine'>,
): void {
  admin.get('/doctor', () => examine())
}
