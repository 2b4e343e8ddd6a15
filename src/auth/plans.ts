/**
 * Who may use what: the contract's plan rules (contract, Authentication) as readings R25 and R26 settle them.
 * Pure: the clock and the settings are passed in.
 */
import { dayMs } from '#kernel/time.ts'
import type { PlanName, PlanRow, PlanStatus } from '#store/ports/users.ts'
import type { Scope } from './scopes.ts'

export interface PlanSettings {
  /** The plan of a user for whom none was ever set (`DEFAULT_PLAN`). */
  readonly defaultPlan: PlanName
  /** Reading R26: a trialing Professional keeps brokerage access. */
  readonly brokerageDuringTrial: boolean
}

/** The operator sells plans: a user for whom none was set does not have everything. */
export function sellsPlans({ defaultPlan }: PlanSettings): boolean {
  return defaultPlan !== 'professional'
}

/** How long legacy accounts keep access after their cut-off (reading R25). */
const legacyGraceMs = 14 * dayMs

/** The effective plan: the user's own, else the default one, which is always active. */
export function effectivePlan(
  row: PlanRow,
  settings: PlanSettings,
): { readonly plan: PlanName; readonly status: PlanStatus } {
  if (row.plan !== null) return { plan: row.plan, status: row.status }
  return { plan: settings.defaultPlan, status: 'active' }
}

/** When a legacy account loses access; null for any other account. */
function toLegacyEnd({ legacyUntil }: PlanRow): number | null {
  return legacyUntil === null ? null : legacyUntil + legacyGraceMs
}

/** R25: a paid plan that is not cancelled; a legacy account in its grace period; a grandfathered one. */
export function hasApiAccess(row: PlanRow, settings: PlanSettings, now: number): boolean {
  if (row.grandfathered) return true
  const legacyEnd = toLegacyEnd(row)
  if (legacyEnd !== null && now < legacyEnd) return true
  const { plan, status } = effectivePlan(row, settings)
  return plan !== 'none' && status !== 'canceled'
}

/** Reading R26: Professional, active or past due; trialing only where the setting says so. */
export function hasBrokerageAccess(row: PlanRow, settings: PlanSettings): boolean {
  const { plan, status } = effectivePlan(row, settings)
  if (plan !== 'professional') return false
  if (status === 'trialing') return settings.brokerageDuringTrial
  return status === 'active' || status === 'past_due'
}

/** Which of these scopes this plan may give to an agent: brokerage needs the plan for it (reading R26). */
export function grantableScopes(
  scopes: readonly Scope[],
  row: PlanRow,
  settings: PlanSettings,
): readonly Scope[] {
  const mayReadBrokerage = hasBrokerageAccess(row, settings)
  return scopes.filter((scope) => scope !== 'brokerage:read' || mayReadBrokerage)
}

export interface PlanSummary {
  readonly plan: PlanName
  readonly status: PlanStatus
  /** A legacy account, and when its access ends or ended. */
  readonly legacy: { readonly endsAt: number; readonly hasEnded: boolean } | null
  readonly grandfathered: boolean
  readonly mayRead: boolean
  readonly mayReadBrokerage: boolean
}

export function summarisePlan(row: PlanRow, settings: PlanSettings, now: number): PlanSummary {
  const endsAt = toLegacyEnd(row)
  return {
    ...effectivePlan(row, settings),
    legacy: endsAt === null ? null : { endsAt, hasEnded: now >= endsAt },
    grandfathered: row.grandfathered,
    mayRead: hasApiAccess(row, settings, now),
    mayReadBrokerage: hasBrokerageAccess(row, settings),
  }
}
