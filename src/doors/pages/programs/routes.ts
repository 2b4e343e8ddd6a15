/** A person's programs that read SimpleFIN: a setup token shown once, the list, and the end of access. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hasApiAccess } from '#auth/plans.ts'
import { type ProgramId, parseUuid } from '#kernel/ids.ts'
import { toSetupToken } from '../../simplefin-access.ts'
import type { PagesContext } from '../context.ts'
import {
  addForm,
  addPage,
  addQuestion,
  type FormTurn,
  readDone,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
  zoneOf,
} from '../signed-in.ts'
import {
  type ProgramDraft,
  path,
  programsDone,
  renderEndAccess,
  renderPrograms,
} from './programs-page.ts'

const emptyDraft: ProgramDraft = { name: '', connections: null, problems: {}, message: null }

export function addProgramRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => {
    const typed = readKept(context, turn)
    return show(context, turn, typed === null ? emptyDraft : { ...emptyDraft, ...readForm(typed) })
  })
  const kept = ['name', 'connection']
  addForm(scope, context, { path, isSensitive: true, isOnce: true, kept }, (turn) =>
    create(context, turn),
  )
  addRevocation(scope, context)
}

async function show(
  context: PagesContext,
  turn: SignedInRequest,
  draft: ProgramDraft,
): Promise<FastifyReply> {
  const { store, plans, clock, shownOnce } = context
  const { request, reply, visit } = turn
  const { user, session, formToken } = visit
  const [programs, connections, accounts] = await Promise.all([
    store.programs.list(user.id),
    store.connections.list(user.id),
    store.accounts.list(user.id),
  ])
  const shown = shownOnce.take(request, reply, session, path)
  const created = programs.find(({ id }) => id === shown?.id)
  const body = renderPrograms({
    programs,
    connections,
    accounts,
    now: clock.now(),
    zone: zoneOf(user),
    formToken,
    draft,
    mayCreate: session.isFresh,
    mayRead: hasApiAccess(user, plans, clock.now()),
    created:
      shown === null || created === undefined ? null : { name: created.name, token: shown.secret },
    done: readDone(context, reply, programsDone),
  })
  return context.show(reply, visit, { title: 'Programs that read SimpleFIN', body })
}

async function create(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { form, reply, visit } = turn
  const { user, session } = visit
  const { name, connections: chosen } = readForm(form)
  const all = await context.store.connections.list(user.id)
  const draft = { ...emptyDraft, name, connections: chosen }
  if (chosen.length === 0 && all.length > 0) {
    reply.code(400)
    return show(context, turn, { ...draft, problems: { connections: 'Choose at least one' } })
  }
  // With every box checked the program also sees what is linked later.
  const isAll = all.every(({ id }) => chosen.includes(id))
  try {
    const { row, secret } = await context.actions.createProgram(toBy(visit), user.id, {
      ...(name === '' ? {} : { name }),
      ...(isAll ? {} : { connections: chosen }),
    })
    const token = toSetupToken(context.origins().base, secret)
    context.shownOnce.put(reply, session, path, { id: row.id, secret: token })
    return reply.redirect(path, 303)
  } catch (error) {
    const { status, ...found } = toProblems(error, { name: 'The name', connections: 'The choice' })
    reply.code(status)
    return show(context, turn, { ...draft, ...found })
  }
}

function readForm(form: URLSearchParams) {
  return { name: (form.get('name') ?? '').trim(), connections: form.getAll('connection') }
}

function addRevocation(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/simplefin/programs/:program/revoke', returnTo: path }
  addQuestion(scope, context, place, {
    async find({ visit, part }) {
      const id = parseUuid<ProgramId>(part('program'))
      const row = id === null ? null : await context.store.programs.get(id)
      return row?.userId === visit.user.id && row.revokedAt === null ? row : null
    },
    title: 'End this program’s access?',
    render: renderEndAccess,
    async act({ visit }, { id }) {
      await context.actions.revokeProgram(toBy(visit), id)
      return `${path}?done=ended`
    },
  })
}
