/**
 * The Fiskil emulator: the provider's own paths, checks and peculiarities with made-up people, so that the
 * real adapter runs against it unchanged. It owns the table of paths; the other files have the answers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#kernel/time.ts'
import {
  type EmulatorReply,
  type EmulatorRequest,
  type SendingEmulator,
  startEmulator,
  withWebhooks,
} from '../emulator.ts'
import type { SendingFaultControls } from '../fault-controls.ts'
import { applyRowFaults } from '../row-faults.ts'
import { dataError, serviceError } from './answers.ts'
import {
  type FiskilApiVersion,
  type FiskilAuth,
  type FiskilCredentials,
  fiskilDemoCredentials,
  makeAuth,
} from './auth.ts'
import { authPagePath } from './auth-page.ts'
import { listAccounts, listBalances, listTransactions } from './banking.ts'
import {
  deleteEndUser,
  listConsents,
  listEndUsers,
  listInstitutions,
  revokeConsent,
  showEndUser,
  showInstitution,
} from './consents.ts'
import { makeFaultControls } from './fault-controls.ts'
import { type Linking, makeLinking } from './linking.ts'
import { makePeople, type People } from './people.ts'
import { type FiskilWebhooks, makeWebhooks } from './webhooks.ts'
import type { SandboxPerson } from './world.ts'

export { type FiskilCredentials, fiskilDemoCredentials } from './auth.ts'
export { toEndUserId } from './factories.ts'
export { fiskilDemoWebhookSecret } from './webhooks.ts'
export {
  addRow,
  type SandboxAccount as FiskilSandboxAccount,
  type SandboxRow as FiskilSandboxRow,
} from './world.ts'

export interface FiskilEmulator extends SendingEmulator {
  /** All people, by name; tests may change them at any time. */
  readonly people: People
  /** Every token given out so far is refused from now on. */
  forgetTokens(): void
  /** The sandbox commands of this provider. */
  readonly faultControls: SendingFaultControls
}

export interface FiskilEmulatorOptions {
  readonly seed?: string
  readonly clock: Clock
  readonly port?: number
  readonly credentials?: FiskilCredentials
}

/** Starts the emulator on loopback. The same seed and clock give the same people and rows. */
export async function startFiskilEmulator(options: FiskilEmulatorOptions): Promise<FiskilEmulator> {
  const { clock } = options
  const credentials = options.credentials ?? fiskilDemoCredentials
  const seed = options.seed ?? 'tributary'
  const people = makePeople({ seed, nowMs: clock.now() })
  const auth = makeAuth({ clock, credentials })
  const { clientId } = credentials
  const webhooks = makeWebhooks({ clock, clientId })
  const linking = makeLinking({ clock, people, seed, clientId, webhooks })
  const answer = makeRoutes({ clock, people, auth, linking, webhooks, clientId })
  const plain = await startEmulator(answer, { port: options.port ?? 0, clock })
  const emulator = withWebhooks(plain, webhooks.sender)
  const faultControls = makeFaultControls({ people, clock, seed, webhooks })
  const { close } = emulator
  return Object.assign(emulator, {
    people,
    forgetTokens: auth.forgetTokens,
    faultControls,
    async close() {
      linking.close()
      await close()
    },
  })
}

interface Routes {
  readonly clock: Clock
  readonly people: People
  readonly auth: FiskilAuth
  readonly linking: Linking
  readonly webhooks: FiskilWebhooks
  readonly clientId: string
}

function makeRoutes(routes: Routes) {
  return async (request: EmulatorRequest): Promise<EmulatorReply> => {
    if (request.method === 'POST' && request.path === '/v1/token') return routes.auth.mint(request)
    if (request.path === authPagePath) return routes.linking.answerPage(request)
    const refusal = routes.auth.refuse(request)
    if (refusal !== null) return refusal
    const version = routes.auth.version(request)
    if (typeof version !== 'string') return version
    const reply =
      (await answerData(routes, request)) ?? answerService(routes, request, version) ?? notFound()
    return { ...reply, headers: { 'x-fiskil-version': version, ...reply.headers } }
  }
}

const dataRoutes = new Map([
  ['/v1/banking/accounts', listAccounts],
  ['/v1/banking/balances', listBalances],
  ['/v1/banking/transactions', listTransactions],
])

async function answerData(routes: Routes, request: EmulatorRequest): Promise<EmulatorReply | null> {
  const route = request.method === 'GET' ? dataRoutes.get(request.path) : undefined
  if (route === undefined) return null
  const endUserId = request.query.get('end_user_id')
  if (endUserId === null || endUserId === '') {
    return dataError({ status: 400, name: 'missing_field', message: '"end_user_id" is required' })
  }
  const person = findPerson(routes, endUserId)
  if (person !== null && person.latencyMs > 0)
    await sleep(person.latencyMs, undefined, { ref: false })
  if (person?.failure != null) return person.failure
  if (person !== null && request.path === '/v1/banking/transactions') {
    const failure = await applyRowFaults(person)
    if (failure !== null) return failure
  }
  return route({ request, person, clock: routes.clock })
}

function answerService(
  routes: Routes,
  request: EmulatorRequest,
  version: FiskilApiVersion,
): EmulatorReply | null {
  const everybody = Object.values(routes.people)
  const [, prefix, noun, id, ...rest] = request.path.split('/').map(decodeURIComponent)
  if (prefix !== 'v1' || id === '' || rest.length > 0) return null
  switch (`${request.method} ${noun}${id === undefined ? '' : '/id'}`) {
    case 'GET end-users':
      return listEndUsers(everybody, request, version)
    case 'POST end-users':
      return routes.linking.createEndUser(request)
    case 'POST end-users/id':
      return routes.linking.updateEndUser(findPerson(routes, id ?? ''), request)
    case 'POST auth/id':
      return id === 'session' ? routes.linking.openSession(request) : null
    case 'GET end-users/id':
      return showEndUser(findPerson(routes, id ?? ''))
    case 'DELETE end-users/id':
      return deleteEndUser(findPerson(routes, id ?? ''))
    case 'GET consent': {
      const endUserId = request.query.get('end_user_id')
      if (endUserId === null || endUserId === '') {
        const message = '"end_user_id" is required'
        return serviceError({ status: 400, name: 'missing_field', message })
      }
      const person = findPerson(routes, endUserId)
      return listConsents({ person, clock: routes.clock }, request, version)
    }
    case 'DELETE consent/id':
      return revokeConsent(everybody, id ?? '', routes.webhooks)
    case 'GET institutions':
      return listInstitutions(request, routes.clientId)
    case 'GET institutions/id':
      return showInstitution(id ?? '')
    default:
      return null
  }
}

function findPerson(routes: Routes, endUserId: string): SandboxPerson | null {
  return Object.values(routes.people).find((person) => person.endUserId === endUserId) ?? null
}

function notFound(): EmulatorReply {
  return dataError({ status: 404, name: 'not_found', message: 'no such path' })
}
