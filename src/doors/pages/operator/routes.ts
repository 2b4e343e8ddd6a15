/**
 * The operator's pages on the admin listener, behind the admin token: doctor, people, invitations, providers,
 * queues, audit. All of it is also a command and a call of the admin API.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from '#contract/resources.ts'
import type { Diagnosis } from '#doctor/finding.ts'
import type { Secret } from '#kernel/secret.ts'
import type { Clock } from '#kernel/time.ts'
import { providerNames } from '#providers/all-facts.ts'
import type { QueueSample } from '#telemetry/queue-samples.ts'
import type { ProviderStanding } from '#usage/provider-states.ts'
import { readText } from '../../request-body.ts'
import { addAssetRoutes, readAssets } from '../assets.ts'
import { type Html, html } from '../html.ts'
import { field } from '../layout.ts'
import { type AdminAnswer, type AdminApi, makeAdminApi } from './api.ts'
import { type AuditLine, renderAudit } from './audit-page.ts'
import { renderDoctor } from './doctor-page.ts'
import { renderFrame, renderProblem } from './frame-page.ts'
import { type OpenInvitation, renderInvitations } from './invitations-page.ts'
import { sumOf } from './metrics.ts'
import { makeOperatorSessions, type OperatorSessions } from './session.ts'
import {
  type ConnectionSeen,
  type EndpointSeen,
  renderUser,
  renderUsers,
  type UserSeen,
  type UserShown,
} from './users-page.ts'
import { renderProviders, renderQueues } from './work-page.ts'

export interface OperatorPagesOptions {
  readonly adminToken: Secret<string>
  readonly clock: Clock
}

interface Context {
  readonly api: AdminApi
  readonly sessions: OperatorSessions
  show(turn: Turn, title: string, body: Html): Promise<FastifyReply>
}

interface Turn {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Null: nobody is signed in. */
  readonly session: string | null
}

interface SignedInTurn extends Turn {
  readonly session: string
  readonly formToken: string
  readonly query: Readonly<Record<string, unknown>>
  readonly form: URLSearchParams
}

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** Mounts the pages; `app` has the admin API. */
export function addOperatorPages(app: FastifyInstance, options: OperatorPagesOptions): void {
  app.register(async (scope) => {
    const assets = await readAssets()
    const api = makeAdminApi(app, options.adminToken)
    const sessions = makeOperatorSessions(options)
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      async (request: FastifyRequest) => new URLSearchParams(await readText(request.raw)),
    )
    const context: Context = {
      ...{ api, sessions },
      show: async ({ request, reply, session }, title, body) => {
        const [path = '/'] = request.url.split('?', 1)
        const formToken = session === null ? null : sessions.formToken(session)
        return reply
          .header('content-security-policy', policy)
          .header('x-frame-options', 'DENY')
          .header('referrer-policy', 'same-origin')
          .type('text/html; charset=utf-8')
          .send(renderFrame({ title, body, path, formToken }, assets))
      },
    }
    addAssetRoutes(scope, assets)
    addSignIn(scope, context)
    addDoctor(scope, context)
    addPeople(scope, context)
    addInvitations(scope, context)
    addProviders(scope, context)
    addQueues(scope, context)
    addAudit(scope, context)
  })
}

/** `notice`: what became of the form that led here; `problem`: what is wrong with the token. */
function renderSignIn({ notice, problem }: { notice?: string; problem?: string } = {}): Html {
  return html`<article class="card">
<h1>Sign in as the operator</h1>
${notice === undefined ? '' : renderProblem(notice)}
<form method="post" action="/sign-in" novalidate>
${field({ name: 'token', label: 'Admin token', type: 'password', autocomplete: 'off', hint: 'ADMIN_TOKEN, or the content of DATA_DIR/admin-token', problem, autofocus: true })}
<button type="submit">Sign in</button>
</form>
</article>`
}

function addSignIn(scope: FastifyInstance, { api, sessions, show }: Context): void {
  scope.get('/sign-in', async (request, reply) => {
    const session = sessions.read(request)
    if (session !== null) return reply.redirect('/', 303)
    return show({ request, reply, session }, 'Sign in', renderSignIn())
  })
  scope.post('/sign-in', async (request, reply) => {
    const token = formOf(request).get('token') ?? ''
    const told = await api.check(token, request.ip)
    if (told.kind === 'told') {
      sessions.begin(reply)
      return reply.redirect('/', 303)
    }
    reply.code(told.status === 429 ? 429 : 401)
    const problem = told.status === 429 ? told.message : 'The admin token is wrong'
    return show({ request, reply, session: null }, 'Sign in', renderSignIn({ problem }))
  })
  addAct(scope, { api, sessions, show }, '/sign-out', async ({ reply }) => {
    sessions.end(reply)
    return reply.redirect('/sign-in', 303)
  })
}

const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams()

type Shown = Pick<Context, 'api' | 'sessions' | 'show'>

function toTurn(
  { sessions }: Shown,
  request: FastifyRequest,
  reply: FastifyReply,
): SignedInTurn | null {
  const session = sessions.read(request)
  if (session === null) return null
  const query = { ...(request.query as object) }
  return {
    ...{ request, reply, session, query },
    formToken: sessions.formToken(session),
    form: formOf(request),
  }
}

type Handler = (turn: SignedInTurn) => Promise<FastifyReply>

function addShow(scope: FastifyInstance, context: Shown, path: string, handle: Handler): void {
  scope.get(path, async (request, reply) => {
    const turn = toTurn(context, request, reply)
    return turn === null ? reply.redirect('/sign-in', 303) : handle(turn)
  })
}

/** A form of these pages; any other one changes nothing. */
function addAct(scope: FastifyInstance, context: Shown, path: string, handle: Handler): void {
  scope.post(path, async (request, reply) => {
    const turn = toTurn(context, request, reply)
    if (turn === null) {
      if (path === '/sign-out') return reply.redirect('/sign-in', 303)
      const notice =
        'Nothing was changed: you are not signed in any more. Sign in, then fill in the form once more.'
      reply.code(401)
      return context.show({ request, reply, session: null }, 'Sign in', renderSignIn({ notice }))
    }
    if (!context.sessions.isOwnForm(turn.session, turn.form.get('formToken'))) {
      reply.code(403)
      const message =
        'Nothing was changed: the form did not come from a page of this sign-in. Reload it and try again.'
      return context.show(turn, 'Form expired', renderProblem(message))
    }
    return handle(turn)
  })
}

const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 500) : '')
const paramOf = ({ request }: Turn, name: string): string =>
  text((request.params as Readonly<Record<string, unknown>>)[name])

/** Shows what was told, or why nothing was. */
async function showTold<Body>(
  { show }: Shown,
  turn: SignedInTurn,
  {
    title,
    told,
    render,
  }: {
    readonly title: string
    readonly told: AdminAnswer<Body>
    readonly render: (body: Body) => Html
  },
): Promise<FastifyReply> {
  if (told.kind === 'told') return show(turn, title, render(told.body))
  turn.reply.code(told.status)
  return show(turn, title, html`<h1>${title}</h1>${renderProblem(told.message)}`)
}

function addDoctor(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/', async (turn) => {
    const told = await context.api.ask<Diagnosis>('GET', '/doctor')
    return showTold(context, turn, { title: 'Doctor', told, render: renderDoctor })
  })
}

interface List<Row> {
  readonly data: readonly Row[]
  readonly next: string | null
}

const peopleShown = 100

function addPeople(scope: FastifyInstance, context: Context): void {
  const { api } = context
  addShow(scope, context, '/people', async (turn) => {
    const cursor = text(turn.query.cursor)
    const page = new URLSearchParams({
      limit: `${peopleShown}`,
      ...(cursor === '' ? {} : { cursor }),
    })
    const told = await api.ask<List<UserSeen>>('GET', `/users?${page}`)
    const render = ({ data, next }: List<UserSeen>) => renderUsers(data, next)
    return showTold(context, turn, { title: 'People', told, render })
  })

  const showPerson = async (turn: SignedInTurn, done: string | null) => {
    const path = `/users/${encodeURIComponent(paramOf(turn, 'user'))}`
    const person = await api.ask<UserShown>('GET', path)
    const list = async <Row>(what: string) => {
      const told = await api.ask<{ readonly data: readonly Row[] }>('GET', `${path}/${what}`)
      return told.kind === 'told' ? told.body.data : []
    }
    const [connections, endpoints, sessions] = await Promise.all([
      list<ConnectionSeen>('connections'),
      list<EndpointSeen>('webhooks'),
      list('sessions'),
    ])
    const { formToken } = turn
    const rest = { connections, endpoints, sessions: sessions.length, formToken, done }
    return showTold(context, turn, {
      title: 'Person',
      told: person,
      render: (body) => renderUser({ person: body, ...rest }),
    })
  }
  addShow(scope, context, '/people/:user', (turn) => showPerson(turn, null))
  addAct(scope, context, '/people/:user/remind', async (turn) => {
    const path = `/users/${encodeURIComponent(paramOf(turn, 'user'))}/reminder`
    const told = await api.ask<{ broken: number; mailed: number }>('POST', path)
    if (told.kind === 'refused') {
      turn.reply.code(told.status)
      return showPerson(turn, `Nobody was asked: ${told.message}`)
    }
    const { broken, mailed } = told.body
    const words =
      broken === 0
        ? 'Nothing has to be reconnected.'
        : `${mailed} of ${broken} broken connections were mailed about; each is mailed about once a day, and only where there is a mail server.`
    return showPerson(turn, words)
  })
}

function addInvitations(scope: FastifyInstance, context: Context): void {
  const { api } = context
  const showList = async (
    turn: SignedInTurn,
    shown: {
      readonly done?: string
      readonly made?: { readonly email: string; readonly url: string }
      readonly email?: string
      readonly problem?: string
    } = {},
  ) => {
    const told = await api.ask<{ readonly data: readonly OpenInvitation[] }>('GET', '/invitations')
    const { done = null, made = null, email = '', problem = null } = shown
    return showTold(context, turn, {
      title: 'Invitations',
      told,
      render: ({ data }) =>
        renderInvitations({
          ...{ invitations: data, formToken: turn.formToken, done, made, email, problem },
        }),
    })
  }
  addShow(scope, context, '/invitations', (turn) => showList(turn))
  addAct(scope, context, '/invitations', async (turn) => {
    const email = turn.form.get('email') ?? ''
    const told = await api.ask<{ email: string; url: string }>('POST', '/invitations', { email })
    if (told.kind === 'told') return showList(turn, { made: told.body })
    turn.reply.code(told.status)
    return showList(turn, { email, problem: told.message })
  })
  addAct(scope, context, '/invitations/withdraw', async (turn) => {
    const email = turn.form.get('email') ?? ''
    const told = await api.ask('DELETE', `/invitations/${encodeURIComponent(email)}`)
    return showList(turn, {
      done: told.kind === 'told' ? `The invitation of ${email} is withdrawn.` : told.message,
    })
  })
}

function addProviders(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/providers', async (turn) => {
    const [doctor, told, metrics] = await Promise.all([
      context.api.ask<Diagnosis>('GET', '/doctor'),
      context.api.ask<Pick<List<ProviderStanding>, 'data'>>('GET', '/providers'),
      context.api.metrics(),
    ])
    const checks = doctor.kind === 'told' ? doctor.body.checks : []
    const render = ({ data }: Pick<List<ProviderStanding>, 'data'>) =>
      renderProviders(
        providerNames.map((provider) => ({
          standing: data.find((one) => one.provider === provider) ?? null,
          ...toRow(provider, checks, metrics),
        })),
      )
    return showTold(context, turn, { title: 'Providers', told, render })
  })
}

function toRow(provider: Provider, checks: Diagnosis['checks'], metrics: string) {
  const own = new RegExp(`provider="${provider}"`)
  const count = (name: string, fits = own) => sumOf(metrics, `tributary_${name}`, fits) ?? 0
  const failed = new RegExp(`provider="${provider}".*outcome="(?:5\\d\\d|429|error)"`)
  return {
    provider,
    findings: checks.filter(({ name }) => name === `provider:${provider}`),
    exchanges: count('provider_exchanges_total'),
    failures: count('provider_exchanges_total', failed),
    alerts: count('provider_alerts_total'),
  }
}

const queueFindings = ['syncs', 'deliveries', 'mail', 'leases', 'deletions', 'event-keys']

function addQueues(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/queues', async (turn) => {
    const [doctor, told] = await Promise.all([
      context.api.ask<Diagnosis>('GET', '/doctor'),
      context.api.ask<Pick<List<QueueSample>, 'data'>>('GET', '/queues'),
    ])
    const checks = doctor.kind === 'told' ? doctor.body.checks : []
    const findings = checks.filter(({ name }) => queueFindings.includes(name))
    const render = ({ data }: Pick<List<QueueSample>, 'data'>) => renderQueues(findings, data)
    return showTold(context, turn, { title: 'Queues', told, render })
  })
}

const auditShown = 100

function addAudit(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/audit', async (turn) => {
    const [user, action, cursor] = [turn.query.user, turn.query.action, turn.query.cursor].map(text)
    const page = new URLSearchParams({
      limit: `${auditShown}`,
      ...(user === '' || user === undefined ? {} : { user }),
      ...(action === '' || action === undefined ? {} : { action }),
      ...(cursor === '' || cursor === undefined ? {} : { cursor }),
    })
    const told = await context.api.ask<List<AuditLine>>('GET', `/audit?${page}`)
    const render = ({ data, next }: List<AuditLine>) =>
      renderAudit(data, { user: user ?? '', action: action ?? '', next })
    return showTold(context, turn, { title: 'Audit', told, render })
  })
}
