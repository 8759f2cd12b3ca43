package main

import "context"

func measureEras(ctx context.Context, b *bench) error    { return nil }
func measureAccess(ctx context.Context, b *bench) error  { return nil }
func measureList(ctx context.Context, b *bench) error    { return nil }
func measureGrowth(ctx context.Context, b *bench) error  { return nil }
func measureCold(ctx context.Context, b *bench) error    { return nil }
func measureMemory(ctx context.Context, b *bench) error  { return nil }
func measureProfile(ctx context.Context, b *bench) error { return nil }
