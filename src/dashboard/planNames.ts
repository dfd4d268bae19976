const names = { trial: "Trial", starter: "Starter", growth: "Growth", business: "Business", custom: "Custom" } as const

export const planName = (plan: keyof typeof names): string => names[plan]
