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
import type { Registry } from '#telemetry/registry.ts'
import { readText } from '../../listener/request-body.ts'
import { addAssetRoutes, readAssets } from '../assets.ts'
import { formOf, type Query, queryOf } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { field } from '../layout.ts'
import { type AdminAnswer, type AdminApi, makeAdminApi } from './api.ts'
import { renderAudit } from './audit-page.ts'
import { renderDoctor } from './doctor-page.ts'
import { renderFrame, renderProblem } from './frame-page.ts'
import { renderInvitations } from './invitations-page.ts'
import { makeOperatorSessions, type OperatorSessions } from './session.ts'
import { renderUser, renderUsers } from './users-page.ts'
import { renderProviders, renderQueues } from './work-page.ts'

export interface OperatorPagesOptions {
  readonly adminToken: Secret<string>
  readonly clock: Clock
  /** The metrics of this process. */
  readonly readMetrics: Registry['read']
}

interface Context {
  readonly readMetrics: Registry['read']
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
  readonly query: Query
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
      ...{ api, sessions, readMetrics: options.readMetrics },
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

type Shown = Pick<Context, 'api' | 'sessions' | 'show'>

function toTurn(
  { sessions }: Shown,
  request: FastifyRequest,
  reply: FastifyReply,
): SignedInTurn | null {
  const session = sessions.read(request)
  if (session === null) return null
  return {
    ...{ request, reply, session },
    query: queryOf(request),
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

/** Mounts the target of a form; a form of another session changes nothing. */
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

// Half a character at the cut could not stand in a URL.
const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, 500).toWellFormed() : ''
const userOf = ({ request }: Turn): string => text((request.params as { user?: unknown }).user)

/** Empty if the call was refused. */
const rowsOf = <Row>(told: AdminAnswer<{ readonly data: readonly Row[] }>): readonly Row[] =>
  told.kind === 'told' ? told.body.data : []

/** Shows the answer, or why it was refused. */
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
    const told = await context.api.ask('GET', '/doctor')
    return showTold(context, turn, { title: 'Doctor', told, render: renderDoctor })
  })
}

const peopleShown = 100

function addPeople(scope: FastifyInstance, context: Context): void {
  const { api } = context
  addShow(scope, context, '/people', async (turn) => {
    const cursor = text(turn.query.cursor)
    const query = { limit: `${peopleShown}`, ...(cursor === '' ? {} : { cursor }) }
    const told = await api.ask('GET', '/users', { query })
    return showTold(context, turn, {
      ...{ title: 'People', told },
      render: ({ data, next }) => renderUsers(data, next),
    })
  })

  const showPerson = async (turn: SignedInTurn, done: string | null) => {
    const given = { values: { user: userOf(turn) } }
    const told = await api.ask('GET', '/users/{user}', given)
    const [connections, endpoints, sessions] = await Promise.all([
      api.ask('GET', '/users/{user}/connections', given).then(rowsOf),
      api.ask('GET', '/users/{user}/webhooks', given).then(rowsOf),
      api.ask('GET', '/users/{user}/sessions', given).then(rowsOf),
    ])
    const { formToken } = turn
    const rest = { connections, endpoints, sessions: sessions.length, formToken, done }
    return showTold(context, turn, {
      ...{ title: 'Person', told },
      render: (body) => renderUser({ person: body, ...rest }),
    })
  }
  addShow(scope, context, '/people/:user', (turn) => showPerson(turn, null))
  addAct(scope, context, '/people/:user/remind', async (turn) => {
    const values = { user: userOf(turn) }
    const told = await api.ask('POST', '/users/{user}/reminder', { values })
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
    const told = await api.ask('GET', '/invitations')
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
    const told = await api.ask('POST', '/invitations', { body: { email } })
    if (told.kind === 'told') return showList(turn, { made: told.body })
    turn.reply.code(told.status)
    return showList(turn, { email, problem: told.message })
  })
  addAct(scope, context, '/invitations/withdraw', async (turn) => {
    const email = turn.form.get('email') ?? ''
    const told = await api.ask('DELETE', '/invitations/{email}', { values: { email } })
    return showList(turn, {
      done: told.kind === 'told' ? `The invitation of ${email} is withdrawn.` : told.message,
    })
  })
}

function addProviders(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/providers', async (turn) => {
    const [doctor, told] = await Promise.all([
      context.api.ask('GET', '/doctor'),
      context.api.ask('GET', '/providers'),
    ])
    const checks = doctor.kind === 'told' ? doctor.body.checks : []
    const metrics = context.readMetrics()
    return showTold(context, turn, {
      ...{ title: 'Providers', told },
      render: ({ data }) =>
        renderProviders(
          providerNames.map((provider) => ({
            standing: data.find((one) => one.provider === provider) ?? null,
            ...toRow(provider, checks, metrics),
          })),
        ),
    })
  })
}

function toRow(
  provider: Provider,
  checks: Diagnosis['checks'],
  metrics: ReturnType<Registry['read']>,
) {
  const count = (name: string, outcomes = /^/) =>
    metrics
      .flatMap((one) =>
        one.type === 'counter' && one.name === `tributary_${name}` ? one.points : [],
      )
      .filter(({ labels }) => labels.provider === provider && outcomes.test(labels.outcome ?? ''))
      .reduce((sum, { value }) => sum + value, 0)
  return {
    provider,
    findings: checks.filter(({ name }) => name === `provider:${provider}`),
    exchanges: count('provider_exchanges_total'),
    failures: count('provider_exchanges_total', /^(?:5\d\d|429|error)$/),
    alerts: count('provider_alerts_total'),
  }
}

const queueFindings = ['syncs', 'deliveries', 'mail', 'leases', 'deletions', 'event-keys']

function addQueues(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/queues', async (turn) => {
    const [doctor, told] = await Promise.all([
      context.api.ask('GET', '/doctor'),
      context.api.ask('GET', '/queues'),
    ])
    const checks = doctor.kind === 'told' ? doctor.body.checks : []
    const findings = checks.filter(({ name }) => queueFindings.includes(name))
    return showTold(context, turn, {
      ...{ title: 'Queues', told },
      render: ({ data }) => renderQueues(findings, data),
    })
  })
}

const auditShown = 100

function addAudit(scope: FastifyInstance, context: Context): void {
  addShow(scope, context, '/audit', async (turn) => {
    const [user, action] = [text(turn.query.user), text(turn.query.action)]
    const cursor = text(turn.query.cursor)
    const query = {
      limit: `${auditShown}`,
      ...(user === '' ? {} : { user }),
      ...(action === '' ? {} : { action }),
      ...(cursor === '' ? {} : { cursor }),
    }
    const told = await context.api.ask('GET', '/audit', { query })
    return showTold(context, turn, {
      ...{ title: 'Audit', told },
      render: ({ data, next }) => renderAudit(data, { user, action, next }),
    })
  })
}
