/**
 * The sandbox commands as paths of the admin API: who lives here, rows, logins, consents, latency, failures, reset. They
 * exist in sandbox mode alone and stand behind the admin token like everything there. Nothing here knows a provider.
 */
import type { FastifyInstance } from 'fastify'
import { EmptyBody, parseBody } from '#doors/admin/bodies.ts'
import { recordAction } from '#doors/admin/subjects.ts'
import type { Clock } from '#kernel/time.ts'
import {
  type Adopted,
  type AdoptedDeps,
  markAdopted,
  type Person,
  refreshAdopted,
} from './adopted.ts'
import { FailureBody, LatencyBody, NewRowBody, RowChangeBody, WhereBody } from './control-bodies.ts'
import type { Levers } from './levers.ts'
import { listPeople, sandboxProviders } from './magic-users.ts'
import {
  canServe,
  findProviders,
  firstThat,
  pull,
  readProvider,
  refuseIdleChange,
  refuseTrade,
  toPerson,
} from './places.ts'
import type { Sandbox } from './start.ts'

export interface ControlDeps extends AdoptedDeps {
  readonly sandbox: Sandbox
  readonly clock: Clock
}

interface PersonPath {
  Params: { person: string }
}
interface ProviderPath {
  Params: { provider: string }
}

/** Makes what adds `/sandbox/…` to the admin API. */
export function makeSandboxControl(deps: ControlDeps): (admin: FastifyInstance) => void {
  return (admin) => {
    addRowRoutes(admin, deps)
    addStateRoutes(admin, deps)
    addProviderRoutes(admin, deps)
  }
}

function addRowRoutes(admin: FastifyInstance, deps: ControlDeps): void {
  const { sandbox, clock } = deps

  admin.get('/sandbox/people', async () => ({ data: listPeople() }))

  admin.post<PersonPath>('/sandbox/people/:person/rows', async (request, reply) => {
    const { person } = request.params
    const body = parseBody(NewRowBody, request.body)
    const [provider] = findProviders(sandbox, person, body.provider)
    refuseTrade(body, provider)
    const row = pull(() =>
      sandbox[provider].levers.addRow(person, {
        account: body.account ?? null,
        amount: body.amount,
        description: body.description,
        at: body.date ?? clock.now(),
        trade: {
          type: body.type ?? 'BUY',
          symbol: body.symbol ?? null,
          units: body.units ?? null,
          price: body.price ?? null,
        },
      }),
    )
    await note(deps, 'sandbox.rows.add', `${person} ${provider}`)
    return reply.code(201).send({ person, provider, ...row })
  })

  admin.post<PersonPath>('/sandbox/people/:person/rows/change', async (request) => {
    const { person } = request.params
    const body = parseBody(RowChangeBody, request.body)
    refuseIdleChange(body)
    const all = findProviders(sandbox, person, body.provider)
    const change = {
      row: body.row ?? null,
      account: body.account ?? null,
      amount: body.amount ?? null,
      description: body.description ?? null,
      at: body.date ?? null,
    }
    // The id of a row says nothing of where it is; without one the first provider is meant.
    const places = change.row === null ? all.slice(0, 1) : all
    const { provider, row } = firstThat(
      places,
      (levers) => levers.changeRow(person, change),
      sandbox,
    )
    await note(deps, 'sandbox.rows.change', `${person} ${provider}`)
    return { person, provider, ...row }
  })
}

function addStateRoutes(admin: FastifyInstance, deps: ControlDeps): void {
  const { sandbox } = deps
  type Act = (levers: Levers, person: string) => void

  const addVerb = (path: string, act: Act, end: typeof refreshAdopted = refreshAdopted) => {
    admin.post<PersonPath>(`/sandbox/people/:person/${path}`, async (request) => {
      const { person } = request.params
      const { provider } = parseBody(WhereBody, request.body)
      const providers = findProviders(sandbox, person, provider)
      const people = providers.map((one) => toPerson(sandbox, one, person))
      const served = providers.filter((one) => canServe(sandbox, one, path, provider))
      pull(() => {
        for (const one of served) act(sandbox[one].levers, person)
      })
      const isServed = (one: Person) => served.includes(one.provider)
      const connections = await end(deps, people.filter(isServed))
      await note(deps, `sandbox.${path.replace('/', '.')}`, [person, ...served].join(' '))
      return { person, providers: served, connections }
    })
  }
  const challenge = (_deps: AdoptedDeps, people: readonly Person[]): Promise<readonly Adopted[]> =>
    markAdopted(deps, people, 'pending_mfa')

  addVerb('login/break', ({ login }, person) => login?.breakIt(person))
  addVerb('login/mend', ({ login }, person) => login?.mend(person))
  // No provider tells of a second factor on a link that exists: only our own store can say it (reading R20b).
  addVerb('login/challenge', () => {}, challenge)
  addVerb('consent/expire', ({ consent }, person) => consent.expire(person))
  addVerb('consent/revoke', ({ consent }, person) => consent.revoke(person))
  addVerb('consent/renew', ({ consent }, person) => consent.renew(person))
}

function addProviderRoutes(admin: FastifyInstance, deps: ControlDeps): void {
  const { sandbox } = deps

  admin.put<ProviderPath>('/sandbox/providers/:provider/latency', async (request) => {
    const provider = readProvider(request.params.provider)
    const { ms } = parseBody(LatencyBody, request.body)
    sandbox[provider].latencyMs = ms
    await note(deps, 'sandbox.latency', `${provider} ${ms}`)
    return { provider, ms }
  })

  admin.post<ProviderPath>('/sandbox/providers/:provider/failures', async (request, reply) => {
    const provider = readProvider(request.params.provider)
    const { status, times, retryAfter } = parseBody(FailureBody, request.body)
    const emulator = sandbox[provider]
    emulator.clearFaults()
    emulator.addFault({
      when: (asked) => emulator.levers.isApiCall(asked),
      ...(times === undefined ? {} : { times }),
      does: { kind: 'reply', reply: emulator.levers.refusal(status, retryAfter ?? null) },
    })
    await note(deps, 'sandbox.fail', `${provider} ${status}`)
    const told = { provider, status, times: times ?? null, retryAfter: retryAfter ?? null }
    return reply.code(201).send(told)
  })

  admin.post('/sandbox/reset', async (request) => {
    parseBody(EmptyBody, request.body)
    for (const provider of sandboxProviders) {
      const emulator = sandbox[provider]
      emulator.latencyMs = 0
      emulator.clearFaults()
      emulator.levers.reset()
    }
    const people = sandboxProviders.flatMap((provider) =>
      Object.keys(sandbox[provider].people).map((name) => toPerson(sandbox, provider, name)),
    )
    const connections = await refreshAdopted(deps, people)
    await note(deps, 'sandbox.reset', 'everybody')
    return { connections }
  })
}

function note(deps: ControlDeps, action: string, subject: string): Promise<void> {
  return recordAction(deps, action, { userId: null, subject })
}
