package disk

import (
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// lockWait is how long a writer waits for another writer.
const lockWait = 10 * time.Second

// writers serialises the writers of this process for each file. The lock file
// serialises those of other processes.
var writers sync.Map // of *sync.Mutex by path

// TryLock takes the lock for path unless another process has it. The lock is
// released when the process exits, for whatever reason.
func TryLock(path string) (unlock func(), taken bool, err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, i18n.Errorf("locking %s: %w", "锁定 %s 失败：%w", path, err)
	}
	busy, err := tryLock(f)
	if err == nil && !busy {
		return func() { f.Close() }, true, nil
	}
	f.Close()
	if err != nil {
		return nil, false, i18n.Errorf("locking %s: %w", "锁定 %s 失败：%w", path, err)
	}
	return nil, false, nil
}

// Lock takes the lock for path, exclusive among all processes, until unlock is
// called. It waits up to lockWait for another process.
func Lock(path string) (unlock func(), err error) {
	own, _ := writers.LoadOrStore(path, new(sync.Mutex))
	writing := own.(*sync.Mutex)
	writing.Lock()
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		writing.Unlock()
		return nil, i18n.Errorf("locking %s: %w", "锁定 %s 失败：%w", path, err)
	}
	deadline := time.Now().Add(lockWait)
	for {
		busy, err := tryLock(f)
		if err == nil && !busy {
			break
		}
		if err == nil && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		f.Close()
		writing.Unlock()
		if err == nil {
			err = i18n.Errorf("another process has been writing it for %v", "另一进程已写入 %v 之久", lockWait)
		}
		return nil, i18n.Errorf("locking %s: %w", "锁定 %s 失败：%w", path, err)
	}
	return func() {
		f.Close() // closing releases the lock; removing the file would race
		writing.Unlock()
	}, nil
}
