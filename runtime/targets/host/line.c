/* A line to a device: a serial port, a pseudo terminal, or a local socket. It only carries bytes; what they mean is the
 * caller's. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

static const struct {
    uint32_t baud;
    speed_t speed;
} speeds[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},
              {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600}};

static const speed_t *speed_of(uint32_t baud) {
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (speeds[i].baud == baud)
            return &speeds[i].speed;
    return NULL;
}

bool firn_host_line_has_speed(uint32_t baud) {
    return speed_of(baud) != NULL;
}

static int open_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (line >= 0 && connect(line, (const struct sockaddr *)&address, sizeof address) == 0)
        return line;
    const int error = errno;
    if (line >= 0)
        close(line);
    errno = error;
    return -1;
}

/* Sets a terminal to eight bits without parity, echo, or translation. */
static bool make_raw(int line, speed_t speed) {
    struct termios settings;
    if (tcgetattr(line, &settings) != 0)
        return false;
    cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL | CREAD;
    settings.c_cflag &= ~(tcflag_t)(CSTOPB | CRTSCTS);
    settings.c_cc[VMIN] = 0;
    settings.c_cc[VTIME] = 0;
    return cfsetispeed(&settings, speed) == 0 && cfsetospeed(&settings, speed) == 0 &&
           tcsetattr(line, TCSANOW, &settings) == 0 && tcflush(line, TCIFLUSH) == 0;
}

bool firn_host_line_open(firn_host_line *line, const char *path, uint32_t baud) {
    struct stat about;
    *line = (firn_host_line){.file = -1, .path = path};
    if (stat(path, &about) != 0)
        return firn_host_fail(path, "cannot be opened: %s; give the serial port of the device", strerror(errno));
    if (S_ISSOCK(about.st_mode))
        line->file = open_socket(path);
    else if (S_ISCHR(about.st_mode))
        line->file = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    else
        return firn_host_fail(path, "is neither a serial port nor a socket; give the serial port of the device");
    if (line->file < 0)
        return firn_host_fail(path, "cannot be opened: %s; look who uses it, and at its permissions", strerror(errno));
    if (!S_ISCHR(about.st_mode))
        return true;
    if (isatty(line->file) == 1 && ioctl(line->file, TIOCEXCL) == 0 && make_raw(line->file, *speed_of(baud)))
        return true;
    firn_host_fail(path, "is no serial port: %s; give the serial port of the device", strerror(errno));
    firn_host_line_close(line);
    return false;
}

void firn_host_line_close(firn_host_line *line) {
    if (line->file >= 0)
        close(line->file);
    line->file = -1;
}

/* Waits until the line is ready. Returns 1, 0 when the time is over, or -1. */
static int wait_for(const firn_host_line *line, short events, double seconds) {
    struct pollfd waiting = {.fd = line->file, .events = events};
    const int ready = poll(&waiting, 1, seconds <= 0 ? 0 : (int)(seconds * 1000) + 1);
    if (ready < 0)
        return errno == EINTR ? 0 : -1;
    return ready;
}

bool firn_host_line_send(const firn_host_line *line, const uint8_t *bytes, size_t count, double seconds) {
    while (count != 0) {
        const int ready = wait_for(line, POLLOUT, seconds);
        if (ready == 0)
            return firn_host_fail(line->path, "takes no bytes; look at the device and its cable");
        ssize_t sent = ready < 0 ? -1 : write(line->file, bytes, count);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (sent < 0)
            return firn_host_fail(line->path, "cannot be written: %s; look at the device and its cable",
                                  strerror(errno));
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

bool firn_host_line_receive(const firn_host_line *line, uint8_t *bytes, size_t most, double seconds, size_t *count) {
    *count = 0;
    const int ready = wait_for(line, POLLIN, seconds);
    if (ready == 0)
        return true;
    const ssize_t got = ready < 0 ? -1 : read(line->file, bytes, most);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0)
        return firn_host_fail(line->path, "cannot be read: %s; look at the device and its cable",
                              got == 0 ? "the other end has closed it" : strerror(errno));
    *count = (size_t)got;
    return true;
}
